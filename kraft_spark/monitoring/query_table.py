"""The queries that a monitor knows, their last rows, and those that have ended. Callers may be in several threads."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from pyspark.sql.streaming.listener import StreamingQueryProgress

from kraft_spark.monitoring.monitored_query import MonitoredQuery
from kraft_spark.monitoring.progress_row import ProgressRow

_MOST_QUERIES = 1_000
"""Spark drops events if listeners are too slow. A query whose end was dropped would otherwise be kept forever."""


class QueryOutcome(Enum):
    """How a query ended; the value is its name in metrics."""

    STOPPED = "stopped"
    FAILED = "failed"


class QueryTable:
    """The running queries by run id, and a history of rows. The number of each is bounded.

    Args:
        history_rows: most rows of the history; the oldest are dropped.
    """

    def __init__(self, history_rows: int) -> None:
        self._changed = threading.Condition()
        self._queries: dict[str, MonitoredQuery] = {}
        self._history: deque[ProgressRow] = deque(maxlen=history_rows)
        self._ended_runs: deque[str] = deque(maxlen=_MOST_QUERIES)
        self._outcomes = Counter(dict.fromkeys(QueryOutcome, 0))

    def begin(self, query_id: str, run_id: str, name: str | None, *, seen_s: float) -> None:
        """Add a run of a query. It replaces other runs of the query: a query runs once at a time."""
        with self._changed:
            self._queries = {run: query for run, query in self._queries.items() if query.query_id != query_id}
            if len(self._queries) >= _MOST_QUERIES:
                del self._queries[min(self._queries, key=lambda run: self._queries[run].last_seen_s)]
            self._queries[run_id] = MonitoredQuery(query_id, run_id, name, seen_s=seen_s)

    def take(self, progress: StreamingQueryProgress, *, seen_s: float) -> tuple[ProgressRow, ...]:
        """Count a micro-batch and keep its rows; return them. The query may be unknown if it runs for longer."""
        run_id = str(progress.runId)
        with self._changed:
            if run_id in self._ended_runs:
                return ()
            if run_id not in self._queries:
                self.begin(str(progress.id), run_id, progress.name, seen_s=seen_s)
            rows = self._queries[run_id].take(progress, seen_s=seen_s)
            self._history.extend(rows)
            return rows

    def rest(self, run_id: str, *, seen_s: float) -> None:
        """Record that a query has nothing new to read."""
        with self._changed:
            if run_id in self._queries:
                self._queries[run_id].rest(seen_s=seen_s)

    def end(self, run_id: str, outcome: QueryOutcome) -> MonitoredQuery | None:
        """Remove a run and count how it ended; return it if it was known."""
        with self._changed:
            self._ended_runs.append(run_id)
            self._outcomes[outcome] += 1
            self._changed.notify_all()
            return self._queries.pop(run_id, None)

    def wait_for_end(self, run_id: str, timeout_s: float) -> bool:
        """Wait until a run has ended; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: run_id in self._ended_runs, timeout_s)

    def history(self) -> list[ProgressRow]:
        """Return the rows of all queries, those that have ended included, oldest first."""
        with self._changed:
            return [*self._history]

    @contextmanager
    def reading(self) -> Iterator[tuple[list[MonitoredQuery], dict[QueryOutcome, int]]]:
        """Yield the running queries, and how many have ended and how; meanwhile they do not change."""
        with self._changed:
            yield [*self._queries.values()], dict(self._outcomes)
