"""The limits of a micro-batch: how many rows and bytes it may have, and how long it waits for enough rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows, ReadMinRows

from datasource.options import ReadOptions
from raft.types import Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """The limits of a micro-batch.

    Fields:
        max_rows: most rows; None for no limit.
        max_bytes: largest size of its record batches as they are stored, unless the first one is larger; None for no
            limit.
        min_rows: a batch with fewer rows waits (see `TriggerDelay`); None if none waits.
        counts_control_records: whether the read has control records as rows.
        target: with AvailableNow, the end of the log at the start of the query; None otherwise.
    """

    max_rows: int | None = None
    max_bytes: int | None = None
    min_rows: int | None = None
    counts_control_records: bool = False
    target: Offset | None = None

    @classmethod
    def of(cls, options: ReadOptions, limit: ReadLimit, target: Offset | None) -> BatchLimits:
        """Return the limits of the next batch.

        Args:
            options: of the read.
            limit: what Spark asks for. It asks for everything with Trigger.Once; otherwise the options count, because
                Spark passes on only one limit of a Python source.
            target: see `BatchLimits`. A query that ends there does not wait for rows, because none may come.
        """
        counts_control_records = options.include_control_records
        if isinstance(limit, ReadAllAvailable):
            return cls(counts_control_records=counts_control_records, target=target)
        return cls(
            max_rows=options.max_offsets_per_trigger,
            max_bytes=options.max_bytes_per_trigger,
            min_rows=options.min_offsets_per_trigger if target is None else None,
            counts_control_records=counts_control_records,
            target=target,
        )

    def end_offset(self, start: Offset) -> Offset | None:
        """Return the latest end of a batch from `start`, as far as offsets tell without a count; None for no limit."""
        if self.max_rows is None or not self.counts_control_records:
            return self.target
        return self.without_counting(start)

    def without_counting(self, start: Offset) -> Offset | None:
        """Return the latest end of a batch from `start` if every offset is a row: for leaders that do not count."""
        bounds = [self.target] if self.target is not None else []
        if self.max_rows is not None:
            bounds.append(Offset(start + self.max_rows))
        return min(bounds, default=None)


def default_limit(options: ReadOptions) -> ReadLimit:
    """Return the limit that Spark stores for a query: one of those that the options set, or none."""
    if options.max_offsets_per_trigger is not None:
        return ReadMaxRows(options.max_offsets_per_trigger)
    if options.max_bytes_per_trigger is not None:
        return ReadMaxBytes(options.max_bytes_per_trigger)
    if options.min_offsets_per_trigger is not None:
        return ReadMinRows(options.min_offsets_per_trigger)
    return ReadAllAvailable()


class TriggerDelay:
    """Decides whether a batch with too few rows waits, as Kafka's source does. The first batch never waits.

    Args:
        max_delay_s: a batch waits at most this long after the batch before.
        now_s: a monotonic clock.

    Source: Spark KafkaMicroBatchStream.delayBatch.
    """

    def __init__(self, max_delay_s: float, now_s: Callable[[], float]) -> None:
        self._max_delay_s = max_delay_s
        self._now_s = now_s
        self._last_batch_s: float | None = None

    def waits(self, *, has_enough_rows: bool) -> bool:
        """Whether to wait; otherwise this counts as the time of a batch."""
        now_s = self._now_s()
        is_due = self._last_batch_s is None or now_s - self._last_batch_s >= self._max_delay_s
        if not (is_due or has_enough_rows):
            return True
        self._last_batch_s = now_s
        return False
