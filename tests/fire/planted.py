"""Sinks with a planted bug: one doubles rows, the other loses rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from datasource.options import WriteOptions
from datasource.source import KraftDataSource
from datasource.stream_writer import _QUERY_ID, KraftStreamWriter


class WithoutLastingKey(KraftDataSource):
    """The sink of `kraft`, whose micro-batches have the key (query id and start of the query, batch id).

    The option `RUN` is what differs between two starts.
    """

    RUN = "option.run"

    @classmethod
    def name(cls) -> str:
        return "kraft_without_lasting_key"

    def streamWriter(self, schema: StructType, overwrite: bool) -> KraftStreamWriter:  # noqa: N802 - Spark's name
        super().streamWriter(schema, overwrite)
        return _ChangingKey(self._write_options(), self.options[self.RUN])


class WithoutRepeatedTasks(KraftDataSource):
    """The sink of `kraft`, in which a repeated task writes nothing, as if the first attempt had always written."""

    @classmethod
    def name(cls) -> str:
        return "kraft_without_repeated_tasks"

    def streamWriter(self, schema: StructType, overwrite: bool) -> KraftStreamWriter:  # noqa: N802 - Spark's name
        super().streamWriter(schema, overwrite)
        return _FirstAttemptsOnly(self._write_options())


PLANTED = {"doubles": WithoutLastingKey, "loses": WithoutRepeatedTasks}
"""The sinks by what they do with rows."""


class _ChangingKey(KraftStreamWriter):
    def __init__(self, options: WriteOptions, run: str) -> None:
        super().__init__(options)
        self._run = run

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None, "this is a task"
        properties = context._localProperties
        assert properties is not None, "a task of a stream has properties"
        properties[_QUERY_ID] += self._run
        return super().write(iterator)


class _FirstAttemptsOnly(KraftStreamWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None, "this is a task"
        if context.attemptNumber() > 0:
            deque(iterator, maxlen=0)
        return super().write(iterator)
