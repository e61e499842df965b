"""Records of every kind that a log may hold, to be written by one program and read by another."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import replace

from raft.records.record import Record
from raft.types import Offset

SOME_TIME_MS = 1_700_000_000_000

_KEYS = (None, b"", b"a key", "Schlüssel".encode())
_HEADERS = ((), (("first", b"1"), ("second", None), ("first", b"")))

_MINUTE_MS = 60_000
_minutes = itertools.count(1)


def later_ms() -> int:
    """Return a time that is later than any in the log, a minute later with each call.

    Tests share a log, control records have times too, and a leader takes what lies an hour ahead of its clock.
    """
    return time.time_ns() // 1_000_000 + next(_minutes) * _MINUTE_MS


def records_of_every_kind(count: int, name: str, *, first_timestamp_ms: int = SOME_TIME_MS) -> list[Record]:
    """Return records with every mixture of no, empty and other keys, values and headers, 32 in all, over and over.

    Args:
        count: how many.
        name: stands in their values.
        first_timestamp_ms: of the first; each is a millisecond after the one before.
    """
    return [
        Record(
            key=_KEYS[at % 4],
            value=(None, b"", f"{name} {at}, ".encode() * 20, "Größe ∞".encode())[at // 4 % 4],
            headers=_HEADERS[at // 16 % 2],
            timestamp_ms=first_timestamp_ms + at,
        )
        for at in range(count)
    ]


def placed(records: Iterable[Record], start_offset: int) -> list[Record]:
    """Return the records at the offsets they have when nothing comes between them."""
    return [replace(record, offset=Offset(start_offset + at)) for at, record in enumerate(records)]
