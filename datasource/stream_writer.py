"""Stream writes: each micro-batch has the key (query id, batch id).

Spark creates two writers in two processes for every micro-batch: one writes and one commits. The messages of the first
one have what the second one needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from datasource.hosts import Host, for_task
from datasource.options import WriteOptions
from datasource.short_errors import short_errors
from datasource.sink_fence import checkpoint_location
from datasource.spark_internals.process import task_properties
from datasource.spark_internals.quick_acks import UnpickledByTask
from datasource.task_rows import Query, TaskRows
from raft.client import WriteKey
from raft.errors import RaftError

_QUERY_ID = "sql.streaming.queryId"
"""Spark's property with the id of the query, which stays the same after a restart from the same checkpoint."""

_BATCH_ID = "streaming.sql.batchId"
"""Spark's property with the id of the micro-batch, which stays the same when it is replayed."""

_CONFLICT_REMEDY = (
    "A checkpoint that was copied, or restored to an older state, gives the keys of written rows to other rows: start "
    "this query with a new checkpointLocation."
)


@short_errors("write", "commit", "abort")
class KraftStreamWriter(UnpickledByTask, DataSourceStreamArrowWriter):
    """Appends the rows of a micro-batch."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._planned_on = Host.of_this_process()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Collect the rows of one task, or append them as a part."""
        from datasource.write_task import collect_rows  # Planning does not need it: see the package.

        context = TaskContext.get()
        query_id = context.getLocalProperty(_QUERY_ID) if context is not None else None
        batch_id = context.getLocalProperty(_BATCH_ID) if context is not None else None
        if context is None or query_id is None or batch_id is None:
            raise RaftError("Spark gave the task no query id or batch id, which a write needs to be exactly once")
        options = self._options_of(int(batch_id))
        location = checkpoint_location(options.checkpoint_location, options.query_name, task_properties(context))
        query = Query(query_id=query_id, checkpoint_location=location)
        key = WriteKey(query_id, int(batch_id))
        return collect_rows(iterator, options, key, partition_id=context.partitionId(), query=query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Append the rows of all tasks, or commit their parts, under the key of this micro-batch.

        Raises:
            ConfigError: the query has written to another cluster before.
            RaftError: they cannot be appended; the query ends, and its restart writes the same batch again.
        """
        from datasource.write_commit import append_rows

        tasks = [message for message in messages if isinstance(message, TaskRows)]
        queries = {task.query for task in tasks}
        if not queries:
            return
        (query,) = queries
        assert query is not None, "every task of a stream has it"
        append_rows(
            self._options_of(batchId),
            WriteKey(query.query_id, batchId),
            tasks,
            what=f"batch {batchId} of query {query.query_id}",
            conflict_remedy=_CONFLICT_REMEDY,
            query=query,
        )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Abort the parts that were appended, if a task of the batch has said which query this is."""
        from datasource.write_commit import abort_parts

        queries = {message.query for message in messages if isinstance(message, TaskRows)}
        for query in queries:
            assert query is not None, "every task of a stream has it"
            abort_parts(self._options, WriteKey(query.query_id, batchId))

    def _options_of(self, batch_id: int) -> WriteOptions:
        """Return the options for a micro-batch: a query that has had one has reached the quorum from this host."""
        if batch_id == 0:
            return self._options
        return replace(self._options, client=for_task(self._options.client, self._planned_on))
