"""The message of a task to the driver: its rows and their query."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The streaming query that writes.

    Fields:
        query_id: its id, which stays the same after a restart from the same checkpoint.
        checkpoint_location: see `datasource.sink_fence`; None if it is unknown.
    """

    query_id: str
    checkpoint_location: str | None


@dataclass
class TaskRows(WriterCommitMessage):
    """The rows of one task.

    Fields:
        rows: an Arrow stream; None if the rows of this task alone are too large for a write.
        row_count: number of rows.
        size_bytes: their size in a record batch.
        query: the streaming query; None in a batch write.
    """

    rows: bytes | None
    row_count: int
    size_bytes: int
    query: Query | None
