"""One run of a query: its last rows, and what is counted since it was started."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from pyspark.sql.streaming.listener import StreamingQueryProgress

from kraft_spark.monitoring.observed_bytes import observed_bytes
from kraft_spark.monitoring.progress_row import ProgressRow
from kraft_spark.monitoring.source_position import SourcePosition, kraft_positions


class Phase(Enum):
    """A part of a micro-batch whose time is measured; the value is its name in metrics."""

    TRIGGER = "trigger"
    LATEST_OFFSET = "latest_offset"
    ADD_BATCH = "add_batch"
    COMMIT = "commit"


_SPARKS_NAMES = {
    Phase.TRIGGER: ("triggerExecution",),
    Phase.LATEST_OFFSET: ("latestOffset",),
    Phase.ADD_BATCH: ("addBatch",),
    Phase.COMMIT: ("walCommit", "commitOffsets", "commitBatch"),
}
"""The keys of `durationMs` that a phase is the sum of. The offsets are written before a batch and its commit after it;
Spark has had two names for the latter."""


class MonitoredQuery:
    """What is known about one run of a query.

    Args:
        query_id: stays the same when the query is restarted from its checkpoint.
        run_id: of this run.
        name: the name that the user gave; None without one.
        seen_s: time of the event that it is known from, in seconds since 1970.
    """

    def __init__(self, query_id: str, run_id: str, name: str | None, *, seen_s: float) -> None:
        self.query_id = query_id
        self.run_id = run_id
        self.name = name
        self.last_seen_s = seen_s
        self.is_idle = False
        self.last_rows: tuple[ProgressRow, ...] = ()
        self.total_rows = 0
        self.total_bytes: int | None = None
        self.batches = 0
        self.duration_sums_ms = dict.fromkeys(Phase, 0)
        self.leader_changes: dict[int, int] = {}
        self._epochs: dict[int, tuple[str, int]] = {}

    def take(self, progress: StreamingQueryProgress, *, seen_s: float) -> tuple[ProgressRow, ...]:
        """Count a micro-batch, and return its rows.

        Args:
            progress: of a batch of this run.
            seen_s: time of the event, in seconds since 1970.
        """
        positions = kraft_positions(progress)
        size = observed_bytes(progress.observedMetrics)
        durations_ms = {phase: _duration_ms(progress, phase) for phase in Phase}
        for position in positions:
            self._count_leader_change(position)
        self.batches += 1
        self.total_rows += progress.numInputRows
        if size is not None:
            self.total_bytes = (self.total_bytes or 0) + size
        for phase, duration_ms in durations_ms.items():
            self.duration_sums_ms[phase] += duration_ms or 0
        self.last_seen_s, self.is_idle = seen_s, False
        self.last_rows = tuple(self._row(progress, position, size, durations_ms) for position in positions or (None,))
        return self.last_rows

    def rest(self, *, seen_s: float) -> None:
        """Record that the query has nothing new to read, so its rates are 0."""
        self.last_seen_s, self.is_idle = seen_s, True

    def _count_leader_change(self, position: SourcePosition) -> None:
        """Count a rise of the epoch since the batch before. A replaced log may have a lower epoch, which is no change.

        One rise is one change. If more than one leader was elected between two batches, the others are not counted.
        """
        cluster_id, epoch = self._epochs.get(position.source, (position.cluster_id, position.epoch))
        has_changed = cluster_id == position.cluster_id and epoch < position.epoch
        before = self.leader_changes.get(position.source, 0)
        self.leader_changes[position.source] = before + has_changed
        self._epochs[position.source] = (position.cluster_id, position.epoch)

    def _row(
        self,
        progress: StreamingQueryProgress,
        position: SourcePosition | None,
        size: int | None,
        durations_ms: dict[Phase, int | None],
    ) -> ProgressRow:
        trigger_ms = durations_ms[Phase.TRIGGER]
        return ProgressRow(
            timestamp=datetime.fromisoformat(progress.timestamp),
            query_name=self.name,
            query_id=self.query_id,
            run_id=self.run_id,
            batch_id=progress.batchId,
            input_rows=progress.numInputRows,
            input_rows_per_second=progress.inputRowsPerSecond,
            processed_rows_per_second=progress.processedRowsPerSecond,
            observed_bytes=size,
            processed_bytes_per_second=None if size is None or not trigger_ms else size * 1000 / trigger_ms,
            trigger_ms=trigger_ms,
            latest_offset_ms=durations_ms[Phase.LATEST_OFFSET],
            add_batch_ms=durations_ms[Phase.ADD_BATCH],
            commit_ms=durations_ms[Phase.COMMIT],
            source=None if position is None else position.source,
            cluster_id=None if position is None else position.cluster_id,
            start_offset=None if position is None else position.start_offset,
            end_offset=None if position is None else position.end_offset,
            latest_offset=None if position is None else position.latest_offset,
            lag_offsets=None if position is None else position.lag_offsets,
            epoch=None if position is None else position.epoch,
            leader_changes=None if position is None else self.leader_changes[position.source],
        )


def _duration_ms(progress: StreamingQueryProgress, phase: Phase) -> int | None:
    found = [progress.durationMs[name] for name in _SPARKS_NAMES[phase] if name in progress.durationMs]
    return sum(found) if found else None
