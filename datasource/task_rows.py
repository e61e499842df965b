"""The message of a task to the driver: its rows, or the part that it has appended."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from raft.types import WritePart


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
    """What one task has to write.

    Fields:
        rows: an Arrow stream with the rows; None if they are in a part, or there are none.
        part: the part with the rows; None if they are in the message.
        row_count: number of rows.
        query: the streaming query; None in a batch write.
    """

    rows: bytes | None
    part: WritePart | None
    row_count: int
    query: Query | None
