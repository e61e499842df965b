"""Batch reads of the log, or of a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from datasource.clients import client_for
from datasource.option_values import NamedOffset, View
from datasource.options import ReadOptions
from datasource.pushed_filters import Bounds, bounds_of
from datasource.range_partition import RangePartition
from datasource.read_plan import resolve_end, resolve_start, split
from datasource.short_errors import short_errors
from datasource.spark_internals.process import takes_filters
from datasource.spark_internals.quick_acks import UnpickledByTask
from datasource.view_range import ViewRange, view_ranges
from raft.errors import ConfigError


@short_errors("partitions", "read")
class KraftBatchReader(UnpickledByTask, DataSourceReader):
    """Reads committed records from a start to an end."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._bounds = Bounds()

    def partitions(self) -> Sequence[InputPartition]:
        """Find the start and the end of the read, and split the range into tasks.

        Raises:
            ConfigError: an offset is after the end of the log, or the start is after the end.
            QuorumUnavailableError: no leader responded in time.
        """
        options = self._options
        client = client_for(options.client)
        if options.view is View.LATEST:
            return [RangePartition(view_range) for view_range in view_ranges(client, options)]
        committed = client.last_stable_offset()
        start = resolve_start(client, options, options.starting_offsets, default=NamedOffset.EARLIEST)
        end = resolve_end(client, options)
        is_earliest = options.starting_timestamp_ms is None and options.starting_offsets in (None, NamedOffset.EARLIEST)
        if is_earliest and end is not None:
            start = min(start, end)  # No record before the end is left.
        if end is not None and start > end:
            raise ConfigError(f"the read starts at offset {start}, expected a start up to its end at {end}")
        start, end = self._bounds.narrow(start, end, committed=committed)
        ranges = split(start, end, options, committed=committed, cluster_id=client.cluster_id or "", epoch=client.epoch)
        if is_earliest:
            # Spark plans a DataFrame once, and may read it again after the records at this start were removed.
            ranges[0] = replace(ranges[0], starts_at_earliest=True)
        return [RangePartition(log_range) for log_range in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the part of one task."""
        assert isinstance(partition, RangePartition), "as planned"
        options = partition.options_for_this_host(self._options)
        # Only tasks need these modules: see the package.
        if isinstance(partition.log_range, ViewRange):
            from datasource.view_reader import read_view

            return read_view(options, partition.log_range)
        from datasource.range_reader import read_range

        return read_range(options, partition.log_range)


class FilteringBatchReader(KraftBatchReader):
    """Reads only the part of the log in which rows can be that the query does not filter out."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take filters; returns those that Spark has to evaluate."""
        if self._options.view is View.LATEST:
            return filters  # Which record of a key is the newest depends on those that are filtered out.
        self._bounds, to_evaluate = bounds_of(filters)
        return to_evaluate


def batch_reader(options: ReadOptions) -> KraftBatchReader:
    """Return a reader, which takes filters if Spark hands them over in this process."""
    return FilteringBatchReader(options) if takes_filters() else KraftBatchReader(options)
