"""Batch writes: one append, once, under a key of the write's own or the user's (`txnAppId`, `txnVersion`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from datasource.options import WriteOptions
from datasource.task_rows import TaskRows
from raft.client import WriteKey

_CONFLICT_REMEDY = (
    "txnAppId and txnVersion name one write: give another application, or a query with a new checkpoint, a txnAppId of "
    "its own, and each of several writes of one foreachBatch too."
)


class KraftBatchWriter(DataSourceArrowWriter):
    """Collects the rows of a DataFrame and appends them.

    Spark pickles it once for tasks and commit alike, so the key made here is the same for all.
    """

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._key = options.key or WriteKey(str(uuid.uuid4()), 0)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Collect the rows of one task."""
        from datasource.writing import collect_rows  # not needed to plan a write: see the package

        return collect_rows(iterator, self._options.client.max_request_bytes, None)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Append the rows of all tasks.

        Raises:
            RaftError: they cannot be appended; nothing is written.
        """
        from datasource.writing import append_rows

        tasks = [message for message in messages if isinstance(message, TaskRows)]
        key = self._key
        append_rows(
            self._options,
            key,
            tasks,
            what=f"the write with txnAppId={key.writer_id} and txnVersion={key.version}",
            conflict_remedy=_CONFLICT_REMEDY,
        )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing was written before the commit, so nothing is to be undone."""
