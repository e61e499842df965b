"""Pure functions that compare the transactions of the clients with the final log; see `tests.workload.checks`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from raft.types import Offset
from tests.workload.history import LoggedValue, Read, Transaction
from tests.workload.transaction_history import LoggedTransaction

_MILLISECOND_NS = 1_000_000

Attempts = Mapping[tuple[bytes, ...], Sequence[Transaction]]
"""All attempts at one transaction or multipart write, by its values."""


def attempts_of(transactions: Iterable[Transaction]) -> Attempts:
    """Return the attempts at each transaction."""
    attempts: dict[tuple[bytes, ...], list[Transaction]] = defaultdict(list)
    for transaction in transactions:
        attempts[transaction.values].append(transaction)
    return attempts


def torn(attempts: Attempts, log: Sequence[LoggedValue]) -> Iterator[str]:
    """A reader sees all values of a transaction or none, and none if no commit was requested."""
    visible = {value for _, value in log}
    for values, tried in attempts.items():
        seen = sum(value in visible for value in values)
        if 0 < seen < len(values):
            yield f"{seen} of {len(values)} values of a transaction of {tried[0].client} are visible: {values!r}"
        elif seen and not any(attempt.wants_commit for attempt in tried):
            yield f"{values!r} of {tried[0].client} are visible, and no commit was requested"


def disordered(attempts: Attempts, log: Sequence[LoggedValue]) -> Iterator[str]:
    """The values of a task have the order in which they were sent."""
    places = {value: offset for offset, value in log}
    for tried in attempts.values():
        for task in tried[0].tasks:
            for before, after in pairwise(task):
                if before in places and after in places and places[after] < places[before]:
                    yield f"{tried[0].client} sent {after!r} after {before!r}, but they are in the other order"


def seen_too_early(attempts: Attempts, logged: Iterable[LoggedTransaction], reads: Iterable[Read]) -> Iterator[str]:
    """No reader passes the begin of a transaction before its end is requested, or its timeout is over (TXN-1)."""
    first_offsets: dict[bytes, Offset] = {}
    for transaction in logged:
        for offset, value in transaction.records:
            first_offsets[value] = min(offset, first_offsets.get(value, offset))
    ordered = sorted(reads, key=lambda read: read.answered_ns)
    answered_ns = [read.answered_ns for read in ordered]
    reached = list(accumulate((read.reached_offset for read in ordered), max))
    for values, tried in attempts.items():
        begun = [first_offsets[value] for value in values if value in first_offsets]
        before = bisect_left(answered_ns, min(map(_earliest_end_ns, tried)))
        if begun and before and reached[before - 1] > min(begun):
            yield (
                f"a transaction of {tried[0].client} begins at {min(begun)}, and a reader had reached "
                f"{reached[before - 1]} before its end was requested"
            )


def half_seen(logged: Iterable[LoggedTransaction], reads: Iterable[Read]) -> Iterator[str]:
    """No last stable offset that a reader is told is within a multipart write (TXN-2)."""
    writes: dict[Offset, Offset] = {}
    for transaction in logged:
        if transaction.is_part and transaction.end_offset is not None:
            end = transaction.end_offset
            writes[end] = min(transaction.first_offset, writes.get(end, transaction.first_offset))
    told = {read.high_watermark: read.session for read in reads if read.high_watermark is not None}
    in_order = sorted(told)
    for end, first in writes.items():
        for stable in in_order[bisect_right(in_order, first) : bisect_left(in_order, end)]:
            yield f"{told[stable]} saw the log up to {stable}, within the multipart write from {first} to {end}"


def ended(attempts: Attempts, logged: Sequence[LoggedTransaction]) -> Iterator[tuple[Offset, int]]:
    """Yield the offset of the marker and the time of the acknowledgement of the ends that were acknowledged."""
    by_value: dict[bytes, list[LoggedTransaction]] = defaultdict(list)
    for transaction in logged:
        for _, value in transaction.records:
            by_value[value].append(transaction)
    for values, tried in attempts.items():
        acknowledged = [
            (attempt.acknowledged_ns, attempt.wants_commit) for attempt in tried if attempt.acknowledged_ns is not None
        ]
        for acknowledged_ns, wants_commit in acknowledged:
            parts = [part for part in by_value[values[0]] if part.is_committed == wants_commit]
            # Only one of several parts with the same values was committed; which of them were aborted when is unknown.
            if len(parts) == 1 and parts[0].end_offset is not None:
                yield Offset(parts[0].end_offset - 1), acknowledged_ns


def _earliest_end_ns(transaction: Transaction) -> int:
    timed_out_ns = transaction.begun_ns + transaction.timeout_ms * _MILLISECOND_NS
    requested_ns = transaction.end_requested_ns
    return timed_out_ns if requested_ns is None else min(timed_out_ns, requested_ns)
