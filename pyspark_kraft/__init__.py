"""Spark imports this package at its first look for a data source, so `format("kraft")` needs no registration."""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql.datasource import DataSource

from pyspark_kraft.own_packages import load_own_packages

_hidden = load_own_packages()

if _hidden is None:
    from datasource import KraftDataSource
    from datasource.batch_reader import KraftBatchReader
    from datasource.batch_writer import KraftBatchWriter
    from datasource.range_partition import RangePartition
    from datasource.refused_stream import RefusedStream
    from datasource.spark_internals.runner import end_quietly
    from datasource.spark_internals.worker_imports import settle_imports
    from datasource.stream_reader import KraftStreamReader
    from datasource.stream_writer import KraftStreamWriter
    from datasource.task_rows import TaskRows
    from pyspark_kraft.pickles import restore_through_here, restore_where_present

    restore_through_here(RangePartition, RefusedStream, TaskRows)
    settle_imports(sys.argv)
    end_quietly()

    class DefaultSource(KraftDataSource):
        """The data source, with a name that Spark's workers find in any working directory."""

    restore_where_present(DefaultSource, KraftBatchReader, KraftBatchWriter, KraftStreamReader, KraftStreamWriter)

else:

    class DefaultSource(DataSource):  # type: ignore[no-redef]  # one of the two, by what is imported
        """Raises an error in place of the data source if a module of the user hides a package of this project."""

        def __init__(self, options: Any) -> None:
            super().__init__(options)
            raise ImportError(_hidden)

        @classmethod
        def name(cls) -> str:
            """Return the name for `format`."""
            return "kraft"


__all__ = ["DefaultSource"]
