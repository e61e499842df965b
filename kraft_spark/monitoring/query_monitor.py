"""The listener that Spark calls at the start, at each micro-batch and at the end of the queries of a session."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import astuple
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from kraft_spark.monitoring.progress_log import ProgressLog
from kraft_spark.monitoring.progress_row import PROGRESS_SCHEMA, ProgressRow
from kraft_spark.monitoring.query_table import QueryOutcome, QueryTable

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.registry import Collector

_logger = logging.getLogger(__name__)

_Arguments = ParamSpec("_Arguments")


def _never_raises(
    callback: Callable[Concatenate[QueryMonitor, _Arguments], None],
) -> Callable[Concatenate[QueryMonitor, _Arguments], None]:
    """Make a callback log its errors: an error of a monitor must not disturb Spark."""

    @functools.wraps(callback)
    def call(monitor: QueryMonitor, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        try:
            callback(monitor, *args, **kwargs)
        except Exception:
            _logger.warning("an event of a query was not recorded: callback=%s", callback.__name__, exc_info=True)

    return call


class QueryMonitor(StreamingQueryListener):
    """Records lag, rates, durations and leader changes of all streaming queries of a session.

        monitor = QueryMonitor()
        spark.streams.addListener(monitor)
        ...
        monitor.dataframe(spark).select("timestamp", "query_name", "lag_offsets").show()

    It writes lines to the logger `kraft_spark.monitoring`, keeps the last rows for `rows` and `dataframe`, and makes
    Prometheus metrics after `register_metrics`. `spark.streams.removeListener` ends it; what it has recorded is kept.

    Spark calls it in another thread, a moment after a micro-batch has ended.

    Args:
        history_rows: most rows that are kept; the oldest are dropped.
        log_interval_s: least time between two log lines about the progress of a query; 0 for a line for each
            micro-batch.
        lag_warning_offsets: a lag above it is logged as a warning; None for no warning.
        now_s: returns the time in seconds since 1970.

    Raises:
        ValueError: a number is too low; says which.
    """

    def __init__(
        self,
        *,
        history_rows: int = 10_000,
        log_interval_s: float = 10.0,
        lag_warning_offsets: int | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        if history_rows < 1:
            raise ValueError(f"history_rows={history_rows}: expected 1 or more")
        if log_interval_s < 0:
            raise ValueError(f"log_interval_s={log_interval_s}: expected 0 or more")
        if lag_warning_offsets is not None and lag_warning_offsets < 0:
            raise ValueError(f"lag_warning_offsets={lag_warning_offsets}: expected 0 or more")
        self._now_s = now_s
        self._table = QueryTable(history_rows)
        self._log = ProgressLog(interval_s=log_interval_s, lag_warning_offsets=lag_warning_offsets)
        # Spark calls `onQueryStarted` in the thread that starts a query, beside the thread of the other events.
        self._calling = threading.Lock()

    def __repr__(self) -> str:
        with self._table.reading() as (running, _):
            return f"<QueryMonitor running_queries={len(running)} rows={len(self.rows())}>"

    def rows(self) -> list[ProgressRow]:
        """Return the rows of the last micro-batches of all queries, those that have ended included, oldest first."""
        return self._table.history()

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """Return `rows` as a DataFrame with the schema `PROGRESS_SCHEMA`.

        Args:
            spark: any session.
        """
        return spark.createDataFrame([astuple(row) for row in self.rows()], PROGRESS_SCHEMA)

    def wait_until_terminated(self, query: StreamingQuery, timeout_s: float = 10.0) -> bool:
        """Wait until Spark has reported the end of a query, and so all its micro-batches; return whether it has.

        Args:
            query: one that has been started while this listener was added.
            timeout_s: longest wait.
        """
        return self._table.wait_for_end(str(query.runId), timeout_s)

    def register_metrics(self, registry: CollectorRegistry | None = None) -> Collector:
        """Add the metrics of the queries to a registry of the package prometheus-client.

        A query that has ended has no metrics any more; `kraft_queries_terminated_total` counts it.

        Args:
            registry: None for the default one of the package. It has the metrics of one monitor only.

        Returns:
            What `registry.unregister` takes.

        Raises:
            ValueError: the registry has the metrics of a monitor already.
        """
        # The library takes time and memory, which most programs would pay for nothing.
        from prometheus_client import REGISTRY

        from kraft_spark.monitoring.query_collector import QueryCollector

        collector = QueryCollector(self._table)
        (REGISTRY if registry is None else registry).register(collector)
        return collector

    @_never_raises
    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Record the start of a query. Spark calls this before `start()` of the query returns."""
        query_id, run_id = str(event.id), str(event.runId)
        with self._calling:
            self._table.begin(query_id, run_id, event.name, seen_s=self._now_s())
            self._log.started(query_id, run_id, event.name)

    @_never_raises
    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Record a micro-batch."""
        with self._calling:
            now_s = self._now_s()
            self._log.progressed(self._table.take(event.progress, seen_s=now_s), now_s=now_s)

    @_never_raises
    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Record that a query has nothing new to read. Spark calls this every 10 s, not at each trigger."""
        with self._calling:
            self._table.rest(str(event.runId), seen_s=self._now_s())

    @_never_raises
    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Record the end of a query, and remove its metrics."""
        run_id, is_failed = str(event.runId), event.exception is not None
        with self._calling:
            known = self._table.end(run_id, QueryOutcome.FAILED if is_failed else QueryOutcome.STOPPED)
            name = known.name if known is not None else None
            self._log.ended(str(event.id), run_id, name, is_failed=is_failed, error_class=event.errorClassOnException)
