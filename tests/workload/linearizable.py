"""Judges whether the appends to a log and the reads of its end are linearizable, in real time.

The offsets say in which order they took effect: an append at offset 7 comes before the reads that return 8 or more, and
after those that return 7 or less. This order has to agree with real time: what ended before another operation began
also took effect before it. Two operations that overlap may have either order, and an append without an acknowledgement
may have taken effect at any time, or never. Since the order is known, it is enough to compare each operation with the
highest offsets of those that ended before it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from raft.types import Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAppend:
    """An append that was acknowledged.

    Fields:
        name: for messages.
        invoked_ns, answered_ns: before the request was sent; after the acknowledgement was received.
        start_offset, end_offset: of its records.
    """

    name: str
    invoked_ns: int
    answered_ns: int
    start_offset: Offset
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRead:
    """A linearizable read of the log's end.

    Fields:
        name: for messages.
        invoked_ns, answered_ns: before the request was sent; after the response was received.
        end_offset: as the response has it.
        hidden_to: the records from the end on and below this offset are behind an open transaction, so that the read
            may miss them; the end for none.
    """

    name: str
    invoked_ns: int
    answered_ns: int
    end_offset: Offset
    hidden_to: Offset


class Before(NamedTuple):
    """What had ended when an operation began.

    Fields:
        appended_end: the highest end of the acknowledged appends.
        read_end: the highest end that a read had returned.
    """

    appended_end: Offset = Offset(0)
    read_end: Offset = Offset(0)


class LogJudge:
    """Judges operations as they end. The caller keeps the value of `before` from the begin of each operation.

    Attributes:
        before: what has ended until now.
    """

    def __init__(self) -> None:
        self.before = Before()

    def appended(self, begun: Before, start_offset: Offset, end_offset: Offset) -> str | None:
        """Note an append that was acknowledged; return what is wrong with it.

        Args:
            begun: `before` when its request was sent.
            start_offset: of its records.
            end_offset: of its records.
        """
        appended_end, read_end = self.before
        self.before = Before(max(appended_end, end_offset), read_end)
        if start_offset < begun.appended_end:
            return f"is at {start_offset}, but appends up to {begun.appended_end} were acknowledged before"
        if start_offset < begun.read_end:
            return f"is at {start_offset}, but a read had returned the end {begun.read_end} before"
        return None

    def was_read(self, begun: Before, end_offset: Offset, hidden_to: Offset) -> str | None:
        """Note a read that was answered; return what is wrong with it.

        Args:
            begun: `before` when its request was sent.
            end_offset: see `TimedRead`.
            hidden_to: see `TimedRead`.
        """
        appended_end, read_end = self.before
        self.before = Before(appended_end, max(read_end, end_offset))
        if max(end_offset, hidden_to) < begun.appended_end:
            return f"returned the end {end_offset}, but appends up to {begun.appended_end} were acknowledged before"
        if end_offset < begun.read_end:
            return f"returned the end {end_offset}, but another one had returned {begun.read_end} before"
        return None


class _Moment(IntEnum):
    """At one moment operations begin before others end: only what ended earlier comes before them."""

    BEGIN = 0
    END = 1


def not_linearizable(appends: Iterable[TimedAppend], reads: Iterable[TimedRead]) -> Iterator[str]:
    """Yield a sentence for each append and each read that contradicts what had ended before it began.

    Args:
        appends: the acknowledged appends, in any order.
        reads: the reads, in any order.
    """
    operations: list[TimedAppend | TimedRead] = [*appends, *reads]
    moments = sorted(
        moment
        for number, operation in enumerate(operations)
        for moment in (
            (operation.invoked_ns, _Moment.BEGIN, number),
            (operation.answered_ns, _Moment.END, number),
        )
    )
    judge = LogJudge()
    begun: dict[int, Before] = {}
    for _, moment, number in moments:
        if moment is _Moment.BEGIN:
            begun[number] = judge.before
            continue
        operation = operations[number]
        if isinstance(operation, TimedAppend):
            wrong = judge.appended(begun[number], operation.start_offset, operation.end_offset)
        else:
            wrong = judge.was_read(begun[number], operation.end_offset, operation.hidden_to)
        if wrong is not None:
            yield f"{operation.name} {wrong}"
