"""What a task hands to the driver: its rows, and which query they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The streaming query that writes.

    Fields:
        query_id: its id, which outlives restarts from the same checkpoint.
        checkpoint_location: see `datasource.sink_fence`; None where nothing says it.
    """

    query_id: str
    checkpoint_location: str | None


@dataclass
class TaskRows(WriterCommitMessage):
    """The rows of one task, as an Arrow stream; None instead when they alone are more than a write may hold.

    Fields:
        row_count: rows of the task.
        size_bytes: what they take in a record batch.
        query: the streaming one that writes; None in a batch write.
    """

    rows: bytes | None
    row_count: int
    size_bytes: int
    query: Query | None
