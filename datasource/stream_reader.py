"""Stream reads: committed records in micro-batches, up to the high watermark.

Spark has two readers for a query: one on the driver plans, with a client of its own; another one is pickled and reads
on executors, with the clients of their processes (`datasource.clients`).

A trigger that finds nothing new costs one request; one that finds something costs one more for each task.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from datasource.clients import new_client
from datasource.hosts import of_reached
from datasource.limits import BatchLimits, TriggerDelay, default_limit
from datasource.micro_batch import MicroBatch, first_batch, has_rows, next_batch
from datasource.offsets import Beginning, Reached, log_end, read_offset
from datasource.option_values import NamedOffset
from datasource.options import ReadOptions
from datasource.range_partition import RangePartition
from datasource.read_plan import LogRange, resolve_start, split
from datasource.short_errors import short_errors
from datasource.spark_internals.quick_acks import UnpickledByTask
from datasource.spark_internals.runner import end_quietly
from raft.client import Client
from raft.errors import ConfigError
from raft.types import Offset


@short_errors("prepareForTriggerAvailableNow", "latestOffset", "partitions", "read")
class KraftStreamReader(UnpickledByTask, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches up to the leader's high watermark, and reads them.

    The client handles elections and failed servers, because an error of any call ends the query.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._own_client: Client | None = None
        self._target: Offset | None = None
        self._log_end: dict[str, Any] | None = None
        self._delay: TriggerDelay | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the start of a new query. Spark calls this several times, so the result is constant."""
        if self._options.starting_timestamp_ms is not None:
            return Beginning(start=None).to_json()
        start = self._options.starting_offsets
        return Beginning(start=NamedOffset.LATEST if start is None else start).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit of a micro-batch."""
        return default_limit(self._options)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember the present end of the log, at which the query ends."""
        self._target = self._client().last_stable_offset()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Plan the next batch and return its end; `start` itself if there is nothing new."""
        begun = read_offset(start)
        client = self._client(begun)
        limits = BatchLimits.of(self._options, limit, self._target)
        if isinstance(begun, Reached):
            batch = next_batch(client, self._options, begun, limits)
        else:
            first = resolve_start(client, self._options, begun.start, default=NamedOffset.LATEST)
            batch = first_batch(client, first, limits)
        self._log_end = log_end(client.cluster_id or "", batch.log_end, client.epoch)
        is_new_start = isinstance(begun, Beginning) or batch.start != begun.point
        has_batch = is_new_start or batch.end != batch.start
        if not has_batch or (self._waits(client, batch, limits) and not is_new_start):
            return start
        if limits.min_rows is not None and isinstance(begun, Reached) and not is_new_start:
            # The rows that were counted may have been committed after the batch was planned.
            batch = next_batch(client, self._options, begun, limits)
            is_new_start = batch.start != begun.point
        reached = Reached(
            cluster_id=client.cluster_id or "",
            point=batch.end,
            origin=batch.start if is_new_start else None,
        )
        return reached.to_json()

    def _waits(self, client: Client, batch: MicroBatch, limits: BatchLimits) -> bool:
        """Whether a batch has too few rows yet, and waits for more."""
        if limits.min_rows is None:
            return False
        if self._delay is None:
            self._delay = TriggerDelay(self._options.max_trigger_delay_ms / 1000, time.monotonic)
        return self._delay.waits(has_enough_rows=has_rows(client, batch.start, limits, at_least=limits.min_rows))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Return where the log ended when the last batch was planned, for the progress of the query."""
        return self._log_end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Split a batch into tasks. The result depends on the two offsets only, so a replay reads the same records."""
        begun, reached = read_offset(start), read_offset(end)
        if not isinstance(reached, Reached):
            raise ConfigError(f"a batch cannot end at {end}: expected an offset after a batch")
        origin = reached.origin or (begun.point if isinstance(begun, Reached) else None)
        if origin is None:
            raise ConfigError(f"the offset {end} has no start of its batch, expected one after {start}")
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
        """Read the part of one task."""
        from datasource.range_reader import read_range  # Only tasks need it: see the package.

        assert isinstance(partition, RangePartition), "as planned"
        assert isinstance(partition.log_range, LogRange), "a stream has no views"
        return read_range(partition.options_for_this_host(self._options), partition.log_range)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the log keeps the records."""

    def stop(self) -> None:
        """Close the connections of the driver's reader."""
        if self._own_client is not None:
            self._own_client.close()
        end_quietly()

    def _client(self, begun: Beginning | Reached | None = None) -> Client:
        """Return the client of the driver's reader; it knows the epoch that the query has reached."""
        if self._own_client is None:
            settings = self._options.client
            self._own_client = new_client(of_reached(settings) if isinstance(begun, Reached) else settings)
        client = self._own_client
        if isinstance(begun, Reached) and begun.point.epoch > client.epoch:
            client.start_over(cluster_id=client.cluster_id, epoch=begun.point.epoch)
        return client
