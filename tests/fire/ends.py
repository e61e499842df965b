"""Judges the reads of the ends of both logs together with the writes of the feeder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raft.types import Offset
from tests.fire.feeder import FedWrite
from tests.fire.logged_writes import Rows
from tests.workload.history import Read
from tests.workload.linearizable import TimedAppend, not_linearizable
from tests.workload.timed_operations import NEVER_NS, timed_reads
from tests.workload.transaction_checks import half_seen
from tests.workload.transaction_history import LoggedTransaction


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
