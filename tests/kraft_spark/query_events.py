"""Events of a streaming query, as Spark passes them to a listener: made from JSON, as in Spark Connect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryProgress,
)

CLUSTER = "a-cluster-of-tests-00"
DURATIONS_MS = {"triggerExecution": 500, "latestOffset": 7, "addBatch": 300, "walCommit": 40, "commitOffsets": 60}
_TIME = "2026-11-21T10:00:00.250Z"


def kraft_source(end: int, latest: int | None, *, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A source of the kind `kraft` that has read up to `end`, in a log that ended at `latest`.

    Args:
        end: of the batch.
        latest: end of the log when the batch was planned; None if the source did not report it.
        epoch: of the leader.
        more: more fields, such as `endOffset`, in place of those made from the other arguments.
    """
    place = {"version": 2, "clusterId": CLUSTER, "epoch": epoch}
    return {
        "description": "org.apache.spark...PythonMicroBatchStreamWithTriggerAvailableNow@42da5b50",
        "startOffset": {**place, "offset": max(end - 10, 0)},
        "endOffset": {**place, "offset": end},
        "latestOffset": None if latest is None else {**place, "offset": latest},
        "numInputRows": 10,
        "inputRowsPerSecond": 5.0,
        "processedRowsPerSecond": 20.0,
        **more,
    }


RATE_SOURCE = kraft_source(0, 0, startOffset="17", endOffset="18", latestOffset="18")
"""A source of another kind: its offsets are numbers."""


@dataclass(slots=True)
class QueryEvents:
    """The events of one run of a query."""

    name: str | None = "orders"
    query_id: UUID = field(default_factory=uuid4)
    run_id: UUID = field(default_factory=uuid4)
    _batch: int = 0

    def started(self) -> QueryStartedEvent:
        return QueryStartedEvent(self.query_id, self.run_id, self.name, _TIME, set())

    def progress(
        self,
        *sources: dict[str, Any],
        durations_ms: dict[str, int] | None = None,
        observed: dict[str, dict[str, Any]] | None = None,
        sink_rows: int = -1,
    ) -> QueryProgressEvent:
        """The next micro-batch; by default with a source that has read the whole log."""
        found: Sequence[dict[str, Any]] = sources or [kraft_source(10, 10)]
        event = {
            "id": str(self.query_id),
            "runId": str(self.run_id),
            "name": self.name,
            "timestamp": _TIME,
            "batchId": self._batch,
            "batchDuration": 500,
            "numInputRows": sum(source["numInputRows"] for source in found),
            "inputRowsPerSecond": 5.0,
            "processedRowsPerSecond": 20.0,
            "durationMs": DURATIONS_MS if durations_ms is None else durations_ms,
            "stateOperators": [],
            "sources": found,
            "sink": {"description": "a sink", "numOutputRows": sink_rows},
            "observedMetrics": observed or {},
        }
        self._batch += 1
        return QueryProgressEvent(StreamingQueryProgress.fromJson(json.loads(json.dumps(event))))

    def idle(self) -> QueryIdleEvent:
        return QueryIdleEvent(self.query_id, self.run_id, _TIME)

    def terminated(self, error: str | None = None, error_class: str | None = None) -> QueryTerminatedEvent:
        return QueryTerminatedEvent(self.query_id, self.run_id, error, error_class)
