"""The data source `kraft` with a fault: the first attempt of each task fails after its write."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from datasource import KraftDataSource
from datasource.batch_writer import KraftBatchWriter
from datasource.options import WriteOptions
from datasource.stream_writer import KraftStreamWriter


class FlakySource(KraftDataSource):
    """A source that is registered beside the real one."""

    @classmethod
    def name(cls) -> str:
        return "flaky_kraft"

    def writer(self, schema: StructType, overwrite: bool) -> KraftBatchWriter:
        return _FlakyBatchWriter(WriteOptions.of(self.options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> KraftStreamWriter:  # noqa: N802 - Spark's name
        return _FlakyStreamWriter(WriteOptions.of(self.options))


class _FlakyBatchWriter(KraftBatchWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _or_accident(super().write(iterator))


class _FlakyStreamWriter(KraftStreamWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _or_accident(super().write(iterator))


def _or_accident(message: WriterCommitMessage) -> WriterCommitMessage:
    context = TaskContext.get()
    assert context is not None, "a task has a context"
    if context.attemptNumber() == 0:
        raise OSError("the task fails after its write")
    return message
