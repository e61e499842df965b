"""Is a history one that a log can have? Pure functions over what clients saw and what is committed in the end.

Each check yields a sentence for each thing that is wrong, and nothing when all is well. The final log is given as its
data records in the order of their offsets.

Linearizable means here: each value takes its place in the log at one moment between its first request and its first
acknowledgement. So if one append was acknowledged before another was asked for, its offset is the lower one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from raft.types import Offset
from tests.workload.history import Append, LoggedValue, Read

_MILLISECOND_NS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """All attempts to write one value, which may be several clients', as one.

    Fields:
        value: what was to be written.
        invoked_ns: of the first attempt.
        acknowledged_ns: of the first acknowledgement; None when there is none.
    """

    value: bytes
    invoked_ns: int
    acknowledged_ns: int | None


def writes_of(appends: Iterable[Append]) -> list[Write]:
    """Put together the attempts that have the same value."""
    invoked_ns: dict[bytes, int] = {}
    acknowledged_ns: dict[bytes, int] = {}
    for append in appends:
        value = append.value
        invoked_ns[value] = min(append.invoked_ns, invoked_ns.get(value, append.invoked_ns))
        if append.answered_ns is not None:
            acknowledged_ns[value] = min(append.answered_ns, acknowledged_ns.get(value, append.answered_ns))
    return [
        Write(value=value, invoked_ns=first_ns, acknowledged_ns=acknowledged_ns.get(value))
        for value, first_ns in invoked_ns.items()
    ]


def lost(writes: Iterable[Write], log: Sequence[LoggedValue]) -> Iterator[str]:
    """Every acknowledged value is in the log."""
    places = _places(log)
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
    """Nothing is in the log that nobody wrote."""
    known = {write.value for write in writes}
    for offset, value in log:
        if value not in known:
            yield f"{value!r} at {offset} was written by nobody"


def misplaced(appends: Iterable[Append], log: Sequence[LoggedValue]) -> Iterator[str]:
    """An acknowledged value is where its client was told."""
    logged = dict(log)
    for append in appends:
        if append.offset is not None and logged.get(append.offset) != append.value:
            there = logged.get(append.offset)
            yield f"{append.client} was told that {append.value!r} is at {append.offset}; there is {there!r}"


def against_real_time(writes: Sequence[Write], log: Sequence[LoggedValue]) -> Iterator[str]:
    """What was acknowledged before a write was asked for lies before it, also if that one was never acknowledged."""
    places = _places(log)
    placed = [write for write in writes if write.value in places]
    answered = sorted(
        (write.acknowledged_ns, places[write.value], write.value)
        for write in placed
        if write.acknowledged_ns is not None
    )
    earlier = 0
    highest: tuple[Offset, bytes] | None = None
    for write in sorted(placed, key=lambda write: write.invoked_ns):
        while earlier < len(answered) and answered[earlier][0] < write.invoked_ns:
            highest = max(highest or answered[earlier][1:], answered[earlier][1:])
            earlier += 1
        offset = places[write.value]
        if highest is not None and offset < highest[0]:
            yield (
                f"{write.value!r} is at {offset}, but {highest[1]!r} at {highest[0]} was acknowledged before it "
                "was asked for"
            )


def out_of_order(appends: Iterable[Append]) -> Iterator[str]:
    """What is acknowledged to one client has its offsets in the order of its requests, however many were under way."""
    by_client: dict[str, list[tuple[Offset, bytes]]] = defaultdict(list)
    for append in sorted(appends, key=lambda append: append.invoked_ns):
        if append.offset is not None:
            by_client[append.client].append((append.offset, append.value))
    for client, told in by_client.items():
        for (offset, value), (next_offset, next_value) in pairwise(told):
            if next_offset <= offset:
                yield f"{client} wrote {next_value!r} after {value!r}, but they are at {next_offset} and {offset}"


def unfaithful_reads(reads: Iterable[Read], log: Sequence[LoggedValue]) -> Iterator[str]:
    """A read of a part of the log gives all that is committed there, and nothing else."""
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
    """Within a session, the end of what is committed never falls, and never lies before what was read."""
    highest: dict[str, Offset] = {}
    for read in reads:
        known = max(highest.get(read.session, Offset(0)), read.end_offset)
        if read.high_watermark is not None and read.high_watermark < known:
            yield f"{read.session} had come to {known}, and then saw the end at {read.high_watermark}"
        highest[read.session] = max(known, read.high_watermark or Offset(0))


def staleness_ms(
    reads: Iterable[Read], writes: Iterable[Write], log: Sequence[LoggedValue]
) -> Iterator[tuple[float, Read]]:
    """Yield the reads that lack something that was acknowledged before they were asked for, and for how long it was."""
    places = _places(log)
    acknowledged = sorted(
        (places[write.value], write.acknowledged_ns)
        for write in writes
        if write.acknowledged_ns is not None and write.value in places
    )
    offsets = [offset for offset, _ in acknowledged]
    # By position: when the first of this and all later offsets was acknowledged.
    first_ns = [answered_ns for _, answered_ns in acknowledged]
    for at in range(len(first_ns) - 2, -1, -1):
        first_ns[at] = min(first_ns[at], first_ns[at + 1])
    for read in reads:
        at = len(offsets) if read.high_watermark is None else bisect_left(offsets, read.high_watermark)
        if at < len(offsets) and first_ns[at] < read.invoked_ns:
            yield (read.invoked_ns - first_ns[at]) / _MILLISECOND_NS, read


def too_stale(
    reads: Iterable[Read], writes: Iterable[Write], log: Sequence[LoggedValue], *, allowed_ms: float
) -> Iterator[str]:
    """No read, of a new session either, lacks what was acknowledged longer ago than a deposed leader may go on."""
    for late_ms, read in staleness_ms(reads, writes, log):
        if late_ms > allowed_ms:
            yield (
                f"{read.session} saw the end at {read.high_watermark}, {late_ms:.0f} ms after more was acknowledged; "
                f"{allowed_ms:.0f} ms are allowed"
            )


def _places(log: Sequence[LoggedValue]) -> dict[bytes, Offset]:
    """Where each value is; where it is first, if it is there twice."""
    return {value: offset for offset, value in reversed(log)}


def _first_difference(
    read: Sequence[LoggedValue], expected: Sequence[LoggedValue]
) -> tuple[LoggedValue | None, LoggedValue | None]:
    for ours, theirs in zip(read, expected, strict=False):
        if ours != theirs:
            return ours, theirs
    common = min(len(read), len(expected))
    return next(iter(read[common:]), None), next(iter(expected[common:]), None)
