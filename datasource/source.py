"""The entry: what Spark asks for by `format("kraft")`."""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from datasource.batch_reader import KraftBatchReader
from datasource.batch_writer import KraftBatchWriter
from datasource.options import ReadOptions, WriteOptions, check_names
from datasource.refused_stream import RefusedStream
from datasource.schema import check_written_columns, read_columns
from datasource.stream_reader import KraftStreamReader
from datasource.stream_writer import KraftStreamWriter
from raft.errors import ConfigError


class KraftDataSource(DataSource):
    """Committed records of a KRaft quorum, as a stream and as a batch; and writes to it, exactly once.

    Options are checked when the DataFrame is made, without the network; see `datasource.options`.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        check_names(options)

    @classmethod
    def name(cls) -> str:
        """The name to give to `format`."""
        return "kraft"

    def schema(self) -> StructType:
        """The columns of a read; they are fixed, but for what options add."""
        return read_columns(ReadOptions.of(self.options))

    def reader(self, schema: StructType) -> KraftBatchReader:
        """Make a batch reader."""
        options = ReadOptions.of(self.options)
        options.check_for_batch()
        _check_schema(schema, options)
        return KraftBatchReader(options)

    def streamReader(self, schema: StructType) -> KraftStreamReader | RefusedStream:  # noqa: N802 - Spark's name
        """Make a stream reader."""
        try:
            # Checked here too: a schema of the user's own, or a table's, stands in for the call of `schema`.
            options = ReadOptions.of(self.options)
            options.check_for_stream()
            _check_schema(schema, options)
        except (ConfigError, ValueError) as error:
            return RefusedStream(error)
        return KraftStreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> KraftBatchWriter:
        """Make a batch writer."""
        if overwrite:
            raise ValueError('mode("overwrite"): a log is only appended to; expected mode("append")')
        options = WriteOptions.of(self.options)
        check_written_columns(schema)
        return KraftBatchWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> KraftStreamWriter:  # noqa: N802 - Spark's name
        """Make a stream writer."""
        if overwrite:
            raise ValueError('outputMode("complete"): a log is only appended to; expected outputMode("append")')
        options = WriteOptions.of(self.options)
        options.check_for_stream()
        check_written_columns(schema)
        return KraftStreamWriter(options)


def _check_schema(schema: StructType, options: ReadOptions) -> None:
    """Refuse a schema of the user's own: the columns are what a log has."""
    fixed = read_columns(options)
    if [(field.name, field.dataType) for field in schema] != [(field.name, field.dataType) for field in fixed]:
        raise ValueError(f"the kraft source has a fixed schema, {fixed.simpleString()}; leave out .schema(...)")
