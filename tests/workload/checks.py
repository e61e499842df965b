"""Pure functions that compare the history of the clients with the final log.

Each check yields a sentence for each violation, and none when its invariant holds. The final log is given as its data
records in the order of their offsets.

Whether the history is linearizable is judged by `linearizable`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from raft.types import Offset
from tests.workload.history import Append, LoggedValue, Read
from tests.workload.transaction_history import LoggedTransaction

_MILLISECOND_NS = 1_000_000
_NEVER_ENDED = Offset(1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """All attempts to write one value as one write; they may be of several clients.

    Fields:
        value: what the clients wrote.
        invoked_ns: when the first request was sent.
        acknowledged_ns: when the first acknowledgement was received; None if there was none.
    """

    value: bytes
    invoked_ns: int
    acknowledged_ns: int | None


def writes_of(appends: Iterable[Append]) -> list[Write]:
    """Return one write for all attempts that have the same value."""
    invoked_ns: dict[bytes, int] = {}
    acknowledged_ns: dict[bytes, int] = {}
    for append in appends:
        value = append.value
        invoked_ns[value] = min(append.invoked_ns, invoked_ns.get(value, append.invoked_ns))
        if append.acknowledged_ns is not None:
            acknowledged_ns[value] = min(append.acknowledged_ns, acknowledged_ns.get(value, append.acknowledged_ns))
    return [
        Write(value=value, invoked_ns=first_ns, acknowledged_ns=acknowledged_ns.get(value))
        for value, first_ns in invoked_ns.items()
    ]


def lost(writes: Iterable[Write], log: Sequence[LoggedValue]) -> Iterator[str]:
    """Every acknowledged value is in the log."""
    places = places_of(log)
    for write in writes:
        if write.acknowledged_ns is not None and write.value not in places:
            yield f"{write.value!r} was acknowledged and is not in the log"


def doubled(log: Sequence[LoggedValue]) -> Iterator[str]:
    """No value is in the log twice, acknowledged or not."""
    for value, times in Counter(value for _, value in log).items():
        if times > 1:
            offsets = [offset for offset, logged in log if logged == value]
            yield f"{value!r} is in the log {times} times, at {offsets}"


def invented(writes: Iterable[Write], log: Sequence[LoggedValue]) -> Iterator[str]:
    """Every value in the log was written by a client."""
    known = {write.value for write in writes}
    for offset, value in log:
        if value not in known:
            yield f"{value!r} at {offset} was written by no client"


def misplaced(appends: Iterable[Append], log: Sequence[LoggedValue]) -> Iterator[str]:
    """An acknowledged value is at the offset of its acknowledgement."""
    logged = dict(log)
    for append in appends:
        if append.offset is not None and logged.get(append.offset) != append.value:
            found = logged.get(append.offset)
            yield f"{append.client}: {append.value!r} was acknowledged at {append.offset}; the log has {found!r} there"


def out_of_order(appends: Iterable[Append]) -> Iterator[str]:
    """The acknowledged values of one client have offsets in the order of its requests, also of those in flight."""
    by_client: dict[str, list[tuple[Offset, bytes]]] = defaultdict(list)
    for append in sorted(appends, key=lambda append: append.invoked_ns):
        if append.offset is not None:
            by_client[append.client].append((append.offset, append.value))
    for client, acknowledged in by_client.items():
        for (offset, value), (next_offset, next_value) in pairwise(acknowledged):
            if next_offset <= offset:
                yield f"{client} wrote {next_value!r} after {value!r}, but they are at {next_offset} and {offset}"


def unfaithful_reads(reads: Iterable[Read], log: Sequence[LoggedValue]) -> Iterator[str]:
    """A read of a range of offsets returns all records that are committed there, and no others."""
    offsets = [offset for offset, _ in log]
    for read in reads:
        begin, end = bisect_left(offsets, read.start_offset), bisect_left(offsets, read.end_offset)
        expected = tuple(log[begin:end])
        if read.records != expected:
            ours, theirs = _first_difference(read.records, expected)
            yield (
                f"{read.session} read {read.start_offset} to {read.end_offset} and found {ours}, "
                f"where the log has {theirs}"
            )


def reads_that_go_back(reads: Iterable[Read]) -> Iterator[str]:
    """Within a session, the high watermark never falls, and is never below the offsets that were read."""
    highest: dict[str, Offset] = {}
    for read in reads:
        known = max(highest.get(read.session, Offset(0)), read.end_offset)
        if read.high_watermark is not None and read.high_watermark < known:
            yield f"{read.session} had reached {known}, and then saw high watermark {read.high_watermark}"
        highest[read.session] = max(known, read.high_watermark or Offset(0))


def staleness_ms(
    reads: Iterable[Read],
    writes: Iterable[Write],
    log: Sequence[LoggedValue],
    *,
    transactions: Iterable[LoggedTransaction] = (),
    ended: Iterable[tuple[Offset, int]] = (),
) -> Iterator[tuple[float, Read]]:
    """Yield each read that missed an acknowledged record, and for how long it was known that it had to see it.

    A record behind an open transaction cannot be seen. So a last stable offset at which a transaction begins is old
    only once anything is acknowledged that is not before the end marker of this transaction. If it is a multipart
    write, those count too that began within it (TXN-2).

    Args:
        reads: the reads; those without a high watermark do not count.
        writes: the writes.
        log: the data records that readers may see.
        transactions: those of the log.
        ended: offset of the marker, and time of its acknowledgement, of transactions whose end was acknowledged.
    """
    places = places_of(log)
    acknowledged = sorted(
        (
            *ended,
            *(
                (places[write.value], write.acknowledged_ns)
                for write in writes
                if write.acknowledged_ns is not None and write.value in places
            ),
        )
    )
    offsets = [offset for offset, _ in acknowledged]
    # By position: the earliest acknowledgement of this offset and all later ones.
    first_ns = [acknowledged_ns for _, acknowledged_ns in acknowledged]
    for at in range(len(first_ns) - 2, -1, -1):
        first_ns[at] = min(first_ns[at], first_ns[at + 1])
    held = held_until(transactions)
    for read in reads:
        shown = read.high_watermark
        if shown is None:
            continue
        missed = Offset(held[shown] - 1) if shown in held else shown
        at = bisect_left(offsets, missed)
        if at < len(offsets) and first_ns[at] < read.invoked_ns:
            yield (read.invoked_ns - first_ns[at]) / _MILLISECOND_NS, read


def held_until(transactions: Iterable[LoggedTransaction]) -> dict[Offset, Offset]:
    """Return the end of the last marker that a last stable offset waits for, by the first offset of each transaction.

    A multipart write also waits for those that began within it, and for those that began within these (TXN-2).
    """
    in_order = sorted(transactions, key=lambda transaction: transaction.first_offset)
    ends: dict[Offset, Offset] = {}
    for at, transaction in enumerate(in_order):
        held = reached = transaction.end_offset or _NEVER_ENDED
        if transaction.is_part:
            for later in in_order[at + 1 :]:
                if later.first_offset >= reached:
                    break
                end_offset = later.end_offset or _NEVER_ENDED
                held = max(held, end_offset)
                reached = max(reached, end_offset) if later.is_part else reached
        ends[transaction.first_offset] = held
    return ends


def too_stale(staleness: Iterable[tuple[float, Read]], *, allowed_ms: float) -> Iterator[str]:
    """No read, of a new session either, misses a record that was acknowledged longer ago than is allowed.

    A last stable offset that a leader has confirmed misses none that was acknowledged before it was asked for (READ-1).

    Args:
        staleness: see `staleness_ms`.
        allowed_ms: for a leader that has not noticed yet that it was replaced.
    """
    for late_ms, read in staleness:
        expected_ms = 0 if read.is_latest else allowed_ms
        if late_ms > expected_ms:
            what = "was told that the log ends at" if read.is_latest else "saw high watermark"
            yield (
                f"{read.session} {what} {read.high_watermark} {late_ms:.0f} ms after a record above it was "
                f"acknowledged; expected at most {expected_ms:.0f} ms"
            )


def places_of(log: Sequence[LoggedValue]) -> dict[bytes, Offset]:
    """Return the offset of each value; the first one of a value that is there twice."""
    return {value: offset for offset, value in reversed(log)}


def _first_difference(
    read: Sequence[LoggedValue], expected: Sequence[LoggedValue]
) -> tuple[LoggedValue | None, LoggedValue | None]:
    for ours, theirs in zip(read, expected, strict=False):
        if ours != theirs:
            return ours, theirs
    common = min(len(read), len(expected))
    return next(iter(read[common:]), None), next(iter(expected[common:]), None)
