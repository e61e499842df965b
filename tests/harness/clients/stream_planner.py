"""The driver side of a stream without Spark: it plans one batch after the other, and sometimes restarts."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from datasource.options import ReadOptions
from datasource.stream_reader import KraftStreamReader
from raft.types import Offset
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.workload.history import History, Plan
from tests.workload.worker import Worker

_REST_S = 0.05
_RESTARTS = 20
"""One of as many batches is planned by a new reader, as after a restart of the driver."""

_LIMITS: tuple[dict[str, str], ...] = (
    {},
    {"maxOffsetsPerTrigger": "200"},
    {"maxBytesPerTrigger": "20000"},
    {"maxOffsetsPerTrigger": "300", "maxBytesPerTrigger": "30000"},
)
"""The limits of a batch; each reader has one of them."""


class StreamPlanner(Worker):
    """Plans batches with `failOnDataLoss`: no committed record is ever lost here, so any loss ends it with an error.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        options: of the stream, without limits of its batches.
        dice: decides when it restarts, and how many rows and bytes a batch may have.
    """

    def __init__(self, name: str, history: History, options: dict[str, str], dice: Random) -> None:
        super().__init__(name, history)
        self._options = [ReadOptions.of(options | limits) for limits in _LIMITS]
        self._dice = dice

    def _run(self) -> None:
        options = self._dice.choice(self._options)
        reader = KraftStreamReader(options)
        offset = reader.initialOffset()
        try:
            while not self._is_stopping.wait(self._dice.uniform(0, _REST_S)):
                if self._dice.randrange(_RESTARTS) == 0:
                    reader.stop()
                    options = self._dice.choice(self._options)
                    reader = KraftStreamReader(options)
                offset = self._next(reader, options, offset)
        finally:
            reader.stop()

    def _next(self, reader: KraftStreamReader, options: ReadOptions, offset: dict[str, Any]) -> dict[str, Any]:
        # Spark stores offsets as JSON.
        start = json.loads(json.dumps(offset))
        try:
            end = reader.latestOffset(start, reader.getDefaultReadLimit())
        except UNAVAILABLE:
            return offset
        assert end.get("offset", 0) >= offset.get("offset", 0), f"a batch from {offset} ends at {end}"
        self._history.planned(
            Plan(
                client=self.name,
                start_offset=Offset(offset.get("offset", 0)),
                end_offset=Offset(end.get("offset", 0)),
                max_rows=options.max_offsets_per_trigger,
                max_bytes=options.max_bytes_per_trigger,
            )
        )
        return end
