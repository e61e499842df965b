"""The driver side of a stream without Spark: it plans one batch after the other, and sometimes restarts."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from datasource.options import ReadOptions
from datasource.stream_reader import KraftStreamReader
from raft.errors import QuorumUnavailableError
from tests.workload.history import History
from tests.workload.worker import Worker

_REST_S = 0.05
_RESTARTS = 20
"""One of as many batches is planned by a new reader, as after a restart of the driver."""

_MAX_ROWS = 200


class StreamPlanner(Worker):
    """Plans batches with `failOnDataLoss`: no committed record is ever lost here, so any loss ends it with an error.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        options: of the stream.
        dice: decides when it restarts, and how many rows a batch may have.
    """

    def __init__(self, name: str, history: History, options: dict[str, str], dice: Random) -> None:
        super().__init__(name, history)
        self._options = ReadOptions.of(options)
        self._dice = dice

    def _run(self) -> None:
        reader = KraftStreamReader(self._options)
        offset = reader.initialOffset()
        try:
            while not self._is_stopping.wait(self._dice.uniform(0, _REST_S)):
                if self._dice.randrange(_RESTARTS) == 0:
                    reader.stop()
                    reader = KraftStreamReader(self._options)
                offset = self._next(reader, offset)
        finally:
            reader.stop()

    def _next(self, reader: KraftStreamReader, offset: dict[str, Any]) -> dict[str, Any]:
        limit: ReadLimit = ReadMaxRows(_MAX_ROWS) if self._dice.random() < 0.5 else ReadAllAvailable()
        # Spark stores offsets as JSON.
        start = json.loads(json.dumps(offset))
        try:
            end = reader.latestOffset(start, limit)
        except QuorumUnavailableError:
            return offset
        assert end.get("offset", 0) >= offset.get("offset", 0), f"a batch from {offset} ends at {end}"
        return end
