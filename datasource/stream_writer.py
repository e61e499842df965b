"""Stream writes: each micro-batch is one append under the key (query id, batch id).

Spark creates two writers in two processes for every micro-batch: one writes and one commits. The messages of the first
one have what the second one needs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from datasource.options import WriteOptions
from datasource.sink_fence import checkpoint_location
from datasource.task_rows import Query, TaskRows
from raft.client import WriteKey
from raft.errors import RaftError

_QUERY_ID = "sql.streaming.queryId"
"""Spark's property with the id of the query, which stays the same after a restart from the same checkpoint."""

_CONFLICT_REMEDY = (
    "A checkpoint that was copied, or restored to an older state, gives the keys of written rows to other rows: start "
    "this query with a new checkpointLocation."
)


class KraftStreamWriter(DataSourceStreamArrowWriter):
    """Collects the rows of a micro-batch and appends them."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Collect the rows of one task."""
        from datasource.writing import collect_rows  # Planning does not need it: see the package.

        context = TaskContext.get()
        query_id = context.getLocalProperty(_QUERY_ID) if context is not None else None
        if context is None or query_id is None:
            raise RaftError("Spark gave the task no query id, which a write needs to be exactly once")
        options = self._options
        location = checkpoint_location(options.checkpoint_location, options.query_name, context._localProperties or {})
        query = Query(query_id=query_id, checkpoint_location=location)
        return collect_rows(iterator, options.client.max_request_bytes, query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Append the rows of all tasks under the key of this micro-batch.

        Raises:
            ConfigError: the query has written to another cluster before.
            RaftError: they cannot be appended; the query ends, and its restart writes the same batch again.
        """
        from datasource.writing import append_rows

        tasks = [message for message in messages if isinstance(message, TaskRows)]
        queries = {task.query for task in tasks}
        if not queries:
            return
        (query,) = queries
        assert query is not None, "every task of a stream has it"
        append_rows(
            self._options,
            WriteKey(query.query_id, batchId),
            tasks,
            what=f"batch {batchId} of query {query.query_id}",
            conflict_remedy=_CONFLICT_REMEDY,
            query=query,
        )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing, because nothing is written before the commit."""
