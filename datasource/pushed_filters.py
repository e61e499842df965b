"""Comparisons of `offset` that Spark hands to a batch read, which then reads less of the log.

Spark hands them over if `spark.sql.python.filterPushdown.enabled` is true. It compares all rows by itself too, except
for lower bounds: the read begins there. Comparisons of `timestamp` are left to Spark, because nodes do not check the
largest timestamp in the header of a batch, by which the first record of a time is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from raft.types import Offset

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the rows of a read have in common, because the others are filtered out.

    Fields:
        first_offset: their lowest offset.
        end_offset: higher than the offset of each; None without an upper bound.
    """

    first_offset: int = 0
    end_offset: int | None = None

    def narrow(self, start: Offset, end: Offset | None, *, committed: Offset) -> tuple[Offset, Offset | None]:
        """Return the part of a read in which rows can be that are not filtered out.

        Args:
            start: of the read.
            end: of the read; None for the high watermark when it is read.
            committed: the high watermark when the read is planned.
        """
        last = committed if end is None else end
        start = Offset(max(start, self.first_offset if end is None else min(self.first_offset, end)))
        # Without an end, rows above the high watermark of now can be committed before the task runs.
        if self.end_offset is not None and self.end_offset <= last:
            end = Offset(max(self.end_offset, start))
        return start, end


def bounds_of(filters: Iterable[Filter]) -> tuple[Bounds, list[Filter]]:
    """Return the bounds that all rows have to be in, and the filters that Spark has to evaluate.

    Args:
        filters: all have to be true of a row.
    """
    first_offset, end_offset = 0, None
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
        to_evaluate.append(each)
    return Bounds(first_offset=first_offset, end_offset=end_offset), to_evaluate


def _lower(bound: int | None, other: int) -> int:
    return other if bound is None else min(bound, other)
