"""The operations of a history on its log, for `linearizable` and for other programs that judge it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from raft.types import Offset
from tests.workload.checks import Write, held_until, places_of
from tests.workload.history import LoggedValue, Read
from tests.workload.linearizable import TimedAppend, TimedRead
from tests.workload.transaction_history import LoggedTransaction

NEVER_NS = (1 << 63) - 1
"""When an append without an acknowledgement ends: it may take effect at any time after its request."""


def timed_appends(writes: Iterable[Write], log: Sequence[LoggedValue]) -> Iterator[TimedAppend]:
    """Yield the writes that are in the log, acknowledged or not.

    Args:
        writes: the writes.
        log: the data records that readers may see.
    """
    places = places_of(log)
    for write in writes:
        if write.value in places:
            yield TimedAppend(
                name=repr(write.value),
                invoked_ns=write.invoked_ns,
                answered_ns=NEVER_NS if write.acknowledged_ns is None else write.acknowledged_ns,
                start_offset=places[write.value],
                end_offset=Offset(places[write.value] + 1),
            )


def timed_reads(reads: Iterable[Read], transactions: Iterable[LoggedTransaction]) -> Iterator[TimedRead]:
    """Yield the reads of a last stable offset that a leader has confirmed.

    Args:
        reads: the reads.
        transactions: those of the log. A read that returns the begin of one cannot see what is before the marker that
            the last stable offset waits for.
    """
    held = held_until(transactions)
    for read in reads:
        if read.is_latest and read.high_watermark is not None:
            shown = read.high_watermark
            yield TimedRead(
                name=read.session,
                invoked_ns=read.invoked_ns,
                answered_ns=read.answered_ns,
                end_offset=shown,
                hidden_to=Offset(held[shown] - 1) if shown in held else shown,
            )


def save_operations(path: Path, operations: Iterable[TimedAppend | TimedRead]) -> None:
    """Write a line of JSON for each operation: its kind and its fields."""
    with path.open("w") as file:
        for each in operations:
            kind = "append" if isinstance(each, TimedAppend) else "read"
            line = {"kind": kind} | {field.name: getattr(each, field.name) for field in fields(each)}
            file.write(f"{json.dumps(line)}\n")
