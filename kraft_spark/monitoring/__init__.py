"""Monitors streaming queries: lag, rates, durations and leader changes, as rows, log lines and Prometheus metrics.

    progress -> sources -> query -> rows -> history, log, metrics

`QueryMonitor` is the listener that Spark calls. The other modules have no threads, clocks or locks of their own.
"""

from kraft_spark.monitoring.observed_bytes import observe_bytes
from kraft_spark.monitoring.progress_row import PROGRESS_SCHEMA, ProgressRow
from kraft_spark.monitoring.query_monitor import QueryMonitor

__all__ = ["PROGRESS_SCHEMA", "ProgressRow", "QueryMonitor", "observe_bytes"]
