"""Writes the progress of queries into Python's log. The monitor passes the time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from kraft_spark.monitoring.progress_row import ProgressRow

_logger = logging.getLogger(__name__)

_MOST_QUERIES = 1_000
"""Spark drops events if listeners are too slow, and then the end of a query may be missing."""


@dataclass(slots=True)
class _Logged:
    """What the lines of one run have said."""

    progress_s: float = float("-inf")
    late_sources: set[int] = field(default_factory=set)
    leader_changes: dict[int, int] = field(default_factory=dict)


class ProgressLog:
    """Log lines of queries: a line for each change, and one for progress at most every few seconds for each query.

    Args:
        interval_s: least time between two lines about the progress of a query; 0 for a line for each micro-batch.
        lag_warning_offsets: a lag above it is logged as a warning, once until it falls again; None for no warning.
    """

    def __init__(self, *, interval_s: float, lag_warning_offsets: int | None) -> None:
        self._interval_s = interval_s
        self._lag_warning_offsets = lag_warning_offsets
        self._logged_by_run: dict[str, _Logged] = {}

    def started(self, query_id: str, run_id: str, name: str | None) -> None:
        """Log the start of a query."""
        _logger.info("query started name=%r query_id=%s run_id=%s", name, query_id, run_id)

    def progressed(self, rows: Sequence[ProgressRow], *, now_s: float) -> None:
        """Log what a micro-batch changed, and its progress if the last line is old enough.

        Args:
            rows: of one micro-batch; there may be none.
            now_s: the time, on any clock.
        """
        if not rows:
            return
        logged = self._logged_of(rows[0].run_id)
        for row in rows:
            _log_leader_change(row, logged)
            if self._lag_warning_offsets is not None:
                _log_lag(row, logged, self._lag_warning_offsets)
        # A clock that was set back would otherwise suppress lines for as long.
        if not 0 <= now_s - logged.progress_s < self._interval_s:
            logged.progress_s = now_s
            _log_progress(rows)

    def ended(self, query_id: str, run_id: str, name: str | None, *, is_failed: bool, error_class: str | None) -> None:
        """Log the end of a query. The message of its error may have values of records, so only its class is logged."""
        self._logged_by_run.pop(run_id, None)
        if is_failed:
            _logger.warning(
                "query failed name=%r query_id=%s run_id=%s error=%s", name, query_id, run_id, error_class or "unknown"
            )
        else:
            _logger.info("query stopped name=%r query_id=%s run_id=%s", name, query_id, run_id)

    def _logged_of(self, run_id: str) -> _Logged:
        if run_id not in self._logged_by_run and len(self._logged_by_run) >= _MOST_QUERIES:
            del self._logged_by_run[next(iter(self._logged_by_run))]
        return self._logged_by_run.setdefault(run_id, _Logged())


def _log_leader_change(row: ProgressRow, logged: _Logged) -> None:
    if row.source is None or row.leader_changes is None:
        return
    if row.leader_changes > logged.leader_changes.get(row.source, 0):
        logged.leader_changes[row.source] = row.leader_changes
        _logger.info("leader changed %s source=%s epoch=%s", _query(row), row.source, row.epoch)


def _log_lag(row: ProgressRow, logged: _Logged, limit: int) -> None:
    if row.source is None or row.lag_offsets is None:
        return
    values = (_query(row), row.source, row.lag_offsets, limit)
    if row.lag_offsets > limit and row.source not in logged.late_sources:
        logged.late_sources.add(row.source)
        _logger.warning("lag is above its limit %s source=%s lag_offsets=%s limit=%s", *values)
    elif row.lag_offsets <= limit and row.source in logged.late_sources:
        logged.late_sources.discard(row.source)
        _logger.info("lag is within its limit again %s source=%s lag_offsets=%s limit=%s", *values)


def _log_progress(rows: Sequence[ProgressRow]) -> None:
    row = rows[0]
    _logger.info(
        "query progress %s batch=%s rows=%s input_rows_per_s=%.1f processed_rows_per_s=%.1f bytes_per_s=%s "
        "trigger_ms=%s add_batch_ms=%s commit_ms=%s lag_offsets=%s epoch=%s",
        _query(row),
        row.batch_id,
        row.input_rows,
        row.input_rows_per_second,
        row.processed_rows_per_second,
        _known(None if row.processed_bytes_per_second is None else round(row.processed_bytes_per_second)),
        _known(row.trigger_ms),
        _known(row.add_batch_ms),
        _known(row.commit_ms),
        ",".join(_known(row.lag_offsets) for row in rows),
        ",".join(_known(row.epoch) for row in rows),
    )


def _query(row: ProgressRow) -> str:
    return f"name={row.query_name!r} query_id={row.query_id}"


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)
