"""Batch writes: each is one append under a random key, or under the user's key (`txnAppId`, `txnVersion`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from datasource.options import WriteOptions
from datasource.task_rows import TaskRows
from raft.client import WriteKey

_CONFLICT_REMEDY = (
    "txnAppId and txnVersion identify one write: use another txnAppId for another application, for a query with a new "
    "checkpoint, and for each of several writes in one foreachBatch."
)


class KraftBatchWriter(DataSourceArrowWriter):
    """Collects the rows of a DataFrame and appends them.

    Spark pickles it once for the tasks and the commit, so all of them have the key that is made here.
    """

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._key = options.key or WriteKey(str(uuid.uuid4()), 0)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Collect the rows of one task."""
        from datasource.writing import collect_rows  # Planning does not need it: see the package.

        return collect_rows(iterator, self._options.client.max_request_bytes, None)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Append the rows of all tasks.

        Raises:
            RaftError: they cannot be appended; nothing was written.
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
        """Do nothing, because nothing is written before the commit."""
