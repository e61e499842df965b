"""Batch writes: each has a random key, or the user's key (`txnAppId`, `txnVersion`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from datasource.options import WriteOptions
from datasource.short_errors import short_errors
from datasource.spark_internals.quick_acks import UnpickledByTask
from datasource.task_rows import TaskRows
from raft.client import WriteKey

_CONFLICT_REMEDY = (
    "txnAppId and txnVersion identify one write: use another txnAppId for another application, for a query with a new "
    "checkpoint, and for each of several writes in one foreachBatch."
)


@short_errors("write", "commit", "abort")
class KraftBatchWriter(UnpickledByTask, DataSourceArrowWriter):
    """Appends the rows of a DataFrame.

    Spark pickles it once for the tasks and the commit, so all of them have the key that is made here.
    """

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._key = options.key or WriteKey(str(uuid.uuid4()), 0)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Collect the rows of one task, or append them as a part."""
        from datasource.write_task import collect_rows  # Planning does not need it: see the package.

        context = TaskContext.get()
        partition_id = context.partitionId() if context is not None else 0
        return collect_rows(iterator, self._options, self._key, partition_id=partition_id)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Append the rows of all tasks, and commit their parts.

        Raises:
            RaftError: they cannot be appended; nothing was written.
        """
        from datasource.write_commit import append_rows

        tasks = [message for message in messages if isinstance(message, TaskRows)]
        key = self._key
        append_rows(
            self._options,
            key,
            tasks,
            what=f"the write with txnAppId={key.writer_id} and txnVersion={key.version}",
            conflict_remedy=_CONFLICT_REMEDY,
        )

    def abort(self, _messages: list[WriterCommitMessage | None]) -> None:
        """Abort the parts that were appended."""
        from datasource.write_commit import abort_parts

        abort_parts(self._options, self._key)
