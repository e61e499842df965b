"""Stream writes: each micro-batch is one append, once, under the key (query id, batch id).

Spark makes a writer anew in two processes for every micro-batch, one that writes and one that commits; what the second
needs to know comes in the messages of the first.
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
"""Spark's name for the query's id, which outlives restarts from the same checkpoint."""

_CONFLICT_REMEDY = (
    "A checkpoint that was copied, or set back, gives the keys of one query to the rows of another: start this query "
    "with a new checkpointLocation."
)


class KraftStreamWriter(DataSourceStreamArrowWriter):
    """Collects the rows of a micro-batch and appends them."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Collect the rows of one task."""
        from datasource.writing import collect_rows  # not needed to plan a write: see the package

        context = TaskContext.get()
        query_id = context.getLocalProperty(_QUERY_ID) if context is not None else None
        if context is None or query_id is None:
            raise RaftError("Spark does not say which query this is; without its id a write cannot be exactly once")
        options = self._options
        location = checkpoint_location(options.checkpoint_location, options.query_name, context._localProperties or {})
        query = Query(query_id=query_id, checkpoint_location=location)
        return collect_rows(iterator, options.client.max_request_bytes, query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Append the rows of all tasks under the key of this micro-batch.

        Raises:
            ConfigError: the query has written to another cluster so far.
            RaftError: they cannot be appended; the query ends, and its restart tries the same batch again.
        """
        from datasource.writing import append_rows

        tasks = [message for message in messages if isinstance(message, TaskRows)]
        queries = {task.query for task in tasks}
        if not queries:
            return
        (query,) = queries
        assert query is not None, "every task has said it"
        append_rows(
            self._options,
            WriteKey(query.query_id, batchId),
            tasks,
            what=f"batch {batchId} of query {query.query_id}",
            conflict_remedy=_CONFLICT_REMEDY,
            query=query,
        )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing was written before the commit, so nothing is to be undone."""
