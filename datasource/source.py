"""The data source that Spark creates for `format("kraft")`."""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from datasource.batch_reader import KraftBatchReader, batch_reader
from datasource.batch_writer import KraftBatchWriter
from datasource.default_options import DefaultOptions
from datasource.option import Use
from datasource.option_names import check_names
from datasource.options import ReadOptions, WriteOptions
from datasource.refused_stream import RefusedStream
from datasource.schema import check_written_columns, read_columns
from datasource.short_errors import short_errors
from datasource.stream_reader import KraftStreamReader
from datasource.stream_writer import KraftStreamWriter
from raft.errors import ConfigError


@short_errors("__init__", "schema", "reader", "writer", "streamWriter")
class KraftDataSource(DataSource):
    """Reads committed records of a KRaft quorum, as a stream and as a batch, and writes records exactly once.

    Options are checked when the DataFrame is created, without the network; see `datasource.options`.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        check_names(options)
        self._defaults = DefaultOptions.of(options)

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "kraft"

    def schema(self) -> StructType:
        """Return the columns of a read: fixed columns, and those that options add."""
        return read_columns(self._read_options(Use.STREAM))

    def reader(self, schema: StructType) -> KraftBatchReader:
        """Return a batch reader."""
        options = self._read_options(Use.BATCH)
        options.check_for_batch()
        _check_schema(schema, options)
        return batch_reader(options)

    def streamReader(self, schema: StructType) -> KraftStreamReader | RefusedStream:  # noqa: N802 - Spark's name
        """Return a stream reader."""
        try:
            # Spark does not call `schema` if the user or a table gives a schema, so the options are checked here too.
            options = self._read_options(Use.STREAM)
            options.check_for_stream()
            _check_schema(schema, options)
        except (ConfigError, ValueError) as error:
            return RefusedStream(error)
        return KraftStreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> KraftBatchWriter:
        """Return a batch writer."""
        if overwrite:
            raise ValueError('mode("overwrite"): a log is only appended to; expected mode("append") or INSERT INTO')
        options = self._write_options()
        check_written_columns(schema, options.read_columns)
        return KraftBatchWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> KraftStreamWriter:  # noqa: N802 - Spark's name
        """Return a stream writer."""
        if overwrite:
            raise ValueError('outputMode("complete"): a log is only appended to; expected outputMode("append")')
        options = self._write_options()
        options.check_for_stream()
        check_written_columns(schema, options.read_columns)
        return KraftStreamWriter(options)

    def _read_options(self, use: Use) -> ReadOptions:
        return self._defaults.parse(ReadOptions.of, self.options, use)

    def _write_options(self) -> WriteOptions:
        return self._defaults.parse(WriteOptions.of, self.options, Use.WRITE)


def _check_schema(schema: StructType, options: ReadOptions) -> None:
    """Refuse a schema of the user, because the columns of a log are fixed."""
    fixed = read_columns(options)
    if [(field.name, field.dataType) for field in schema] != [(field.name, field.dataType) for field in fixed]:
        raise ValueError(
            f"the kraft source has a fixed schema, {fixed.simpleString()}: remove .schema(...), or the columns of the "
            "statement that created the table"
        )
