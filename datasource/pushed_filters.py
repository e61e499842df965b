"""Comparisons of `offset` and `timestamp` that Spark hands to a batch read, which then reads less of the log.

Spark hands them over if `spark.sql.python.filterPushdown.enabled` is true. It compares all rows by itself too, except
for lower bounds of `offset`: the read begins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from raft.client import Client
from raft.types import Offset

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the rows of a read have in common, because the others are filtered out.

    Fields:
        first_offset: their lowest offset.
        end_offset: higher than the offset of each; None without an upper bound.
        first_timestamp_ms: their lowest timestamp; None without a lower bound.
    """

    first_offset: int = 0
    end_offset: int | None = None
    first_timestamp_ms: int | None = None

    def narrow(
        self, client: Client, start: Offset, end: Offset | None, *, committed: Offset
    ) -> tuple[Offset, Offset | None]:
        """Return the part of a read in which rows can be that are not filtered out.

        Args:
            client: of the quorum.
            start: of the read.
            end: of the read; None for the high watermark when it is read.
            committed: the high watermark before these bounds were looked up.

        Raises:
            QuorumUnavailableError: no leader responded in time.
        """
        last = committed if end is None else end
        first = self.first_offset
        # A cluster of Apache Kafka would search the timestamp by reading its log from the start.
        if self.first_timestamp_ms is not None and client.feature_level():
            found = client.find_offset(self.first_timestamp_ms)
            first = max(first, last if found is None else found.offset)
        start = Offset(max(start, first if end is None else min(first, end)))
        # Without an end, rows above the high watermark of now can be committed before the task runs.
        if self.end_offset is not None and self.end_offset <= last:
            end = Offset(max(self.end_offset, start))
        return start, end


def bounds_of(filters: Iterable[Filter]) -> tuple[Bounds, list[Filter]]:
    """Return the bounds that all rows have to be in, and the filters that Spark has to evaluate.

    Args:
        filters: all have to be true of a row.
    """
    first_offset, end_offset, first_timestamp_ms = 0, None, None
    to_evaluate: list[Filter] = []
    for each in filters:
        match each:
            case GreaterThanOrEqual(("offset",), int() as offset):
                first_offset = max(first_offset, offset)
                continue
            case GreaterThan(("offset",), int() as offset):
                first_offset = max(first_offset, offset + 1)
                continue
            case LessThan(("offset",), int() as offset):
                end_offset = _lower(end_offset, offset)
            case LessThanOrEqual(("offset",), int() as offset):
                end_offset = _lower(end_offset, offset + 1)
            case EqualTo(("offset",), int() as offset):
                first_offset, end_offset = max(first_offset, offset), _lower(end_offset, offset + 1)
            case In(("offset",), values) if values and all(isinstance(value, int) for value in values):
                first_offset, end_offset = max(first_offset, min(values)), _lower(end_offset, max(values) + 1)
            case (
                GreaterThan(("timestamp",), datetime() as time)
                | GreaterThanOrEqual(("timestamp",), datetime() as time)
                | EqualTo(("timestamp",), datetime() as time)
            ) if time.tzinfo is not None:
                first_timestamp_ms = max(first_timestamp_ms or 0, _milliseconds(time))
        to_evaluate.append(each)
    return Bounds(first_offset=first_offset, end_offset=end_offset, first_timestamp_ms=first_timestamp_ms), to_evaluate


def _lower(bound: int | None, other: int) -> int:
    return other if bound is None else min(bound, other)


def _milliseconds(time: datetime) -> int:
    """Return the milliseconds since 1970 that are not after a time: negative times count as 0."""
    return max((time - _EPOCH) // timedelta(milliseconds=1), 0)
