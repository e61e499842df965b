"""Stream reads: committed records, batch after batch, up to the high watermark.

Spark makes two of these for a query: one lives on the driver and plans, with a client of its own that remembers what it
saw; another is pickled and reads on executors, with their processes' clients (`datasource.clients`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from datasource.batch_reader import RangePartition
from datasource.offsets import Beginning, LogPoint, Reached, read_offset
from datasource.options import Place, ReadOptions
from datasource.planning import committed_end, continue_from, data_loss, epoch_before, resolve_start, split
from datasource.reading import read_range
from datasource.runner import end_quietly
from raft.client import Client
from raft.errors import ConfigError
from raft.types import Epoch, Offset


class KraftStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches from the leader's high watermark, and reads them.

    Elections and dead servers are ridden out inside the client: a call of Spark's that raises ends the query.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._own_client: Client | None = None
        self._target: Offset | None = None
        self._latest: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new query begins, by its meaning: asked for again and again, it must not change."""
        if self._options.starting_timestamp_ms is not None:
            return Beginning(start=None).to_json()
        start = self._options.starting_offsets
        return Beginning(start=Place.LATEST if start is None else start).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """How much of what there is a batch may take."""
        most = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember the end as it is now: the query reads up to there and ends."""
        self._target = committed_end(self._client(), self._options)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Plan the end of the next batch; where nothing is new, it is `start` itself, to the letter."""
        begun = read_offset(start)
        client = self._client(begun)
        end = committed_end(client, self._options, begun if isinstance(begun, Reached) else None)
        first = self._first(client, begun, end)
        end = self._within_limits(first.offset, end, limit)
        is_new_start = isinstance(begun, Beginning) or first != begun.point
        if end == first.offset and not is_new_start:
            self._latest = start
            return start
        epoch = first.epoch if end == first.offset else epoch_before(client, end, first.epoch)
        reached = Reached(
            cluster_id=client.cluster_id or "",
            point=LogPoint(offset=end, epoch=epoch),
            origin=first if is_new_start else None,
        )
        self._latest = reached.to_json()
        return self._latest

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """The newest end planned, for the query's progress."""
        return self._latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Cut a batch into tasks; a function of the two offsets alone, so that a replay reads the same."""
        begun, reached = read_offset(start), read_offset(end)
        if not isinstance(reached, Reached):
            raise ConfigError(f"a batch cannot end at {end}")
        origin = reached.origin or (begun.point if isinstance(begun, Reached) else None)
        if origin is None:
            raise ConfigError(f"a batch from {start} to {end} does not say where it starts")
        point = reached.point
        if origin.offset >= point.offset:
            return []
        ranges = split(
            origin.offset,
            point.offset,
            self._options,
            committed=point.offset,
            cluster_id=reached.cluster_id,
            epoch=point.epoch,
        )
        return [RangePartition(log_range) for log_range in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task's part."""
        assert isinstance(partition, RangePartition), "as planned"
        return read_range(self._options, partition.log_range)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing hangs on it: the log keeps what was read."""

    def stop(self) -> None:
        """Close the connections of the planning side."""
        if self._own_client is not None:
            self._own_client.close()
        end_quietly()

    def _client(self, begun: Beginning | Reached | None = None) -> Client:
        """The client of the planning side; it knows at least the epoch that the query has reached."""
        client = self._own_client = self._own_client or Client(self._options.client)
        if isinstance(begun, Reached) and begun.point.epoch > client.epoch:
            client.start_over(cluster_id=client.cluster_id, epoch=begun.point.epoch)
        return client

    def _first(self, client: Client, begun: Beginning | Reached, end: Offset) -> LogPoint:
        """Where the batch starts."""
        if isinstance(begun, Reached):
            return continue_from(client, self._options, begun, end)
        offset = resolve_start(client, self._options, begun.start, default=Place.LATEST)
        return LogPoint(offset=offset, epoch=epoch_before(client, min(offset, end), Epoch(0)))

    def _within_limits(self, first: Offset, end: Offset, limit: ReadLimit) -> Offset:
        if self._target is not None:
            if end < self._target:
                data_loss(self._options, f"the log ends at {end}; when the query started it was {self._target}")
            end = min(end, self._target)
        if isinstance(limit, ReadMaxRows):
            end = min(end, Offset(first + limit.max_rows))
        return max(end, first)
