"""Reads the ends of both logs under fire, and judges these reads together with the writes of the feeder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

from raft.types import Offset
from tests.fire.feeder import FedWrite
from tests.fire.logged_writes import Rows
from tests.soak.clients.readers import FreshReader
from tests.soak.crowd import IMPATIENT_MS
from tests.soak.quorum import Quorum
from tests.workload.history import History, Read
from tests.workload.linearizable import TimedAppend, not_linearizable
from tests.workload.timed_operations import NEVER_NS, timed_reads
from tests.workload.transaction_checks import half_seen
from tests.workload.visible_log import LoggedTransaction

_JOIN_S = 60.0


@contextmanager
def watched_end(quorum: Quorum, *, name: str, seed: int) -> Iterator[History]:
    """Let a reader read the end of a log again and again during the block, each time in a new session.

    Args:
        quorum: has the log.
        name: of the log.
        seed: decides which node the reader asks first, and its pauses.

    Yields:
        What it has read.
    """
    history = History()
    reader = FreshReader(
        f"{name} reader", history, quorum.settings(api_timeout_ms=IMPATIENT_MS), Random(f"{seed}-{name}-reader")
    )
    reader.start()
    try:
        yield history
    finally:
        reader.ask_to_stop()
        reader.join(_JOIN_S)


def wrong_ends(
    reads: Sequence[Read], transactions: Sequence[LoggedTransaction], fed: Sequence[FedWrite], log: Rows
) -> Iterator[str]:
    """Yield a sentence for each write and read that is not linearizable, and each read that ends within a write.

    Args:
        reads: of one log.
        transactions: of that log.
        fed: the writes to it whose times are known; none for the sink, to which other processes write.
        log: its committed rows.
    """
    yield from not_linearizable(_appends(fed, log), timed_reads(reads, transactions))
    yield from half_seen(transactions, reads)


def _appends(fed: Sequence[FedWrite], log: Rows) -> Iterator[TimedAppend]:
    """Yield those that are in the log, acknowledged or not."""
    places = {value: offset for offset, value in log}
    for write in fed:
        found = [places[value] for value in write.values() if value in places]
        if found:
            yield TimedAppend(
                name=f"the write at row {write.first}",
                invoked_ns=write.invoked_ns,
                answered_ns=NEVER_NS if write.acknowledged_ns is None else write.acknowledged_ns,
                start_offset=min(found),
                end_offset=Offset(max(found) + 1),
            )
