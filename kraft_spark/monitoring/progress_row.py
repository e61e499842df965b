"""One row for each micro-batch and kraft source: what a monitor keeps, and the columns of its DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRow:
    """A micro-batch, with the position of one kraft source.

    A query with several kraft sources has one row for each of them, in which the values of the query are the same. A
    query without one has one row, in which the fields from `source` to `leader_changes` are None.

    Fields:
        timestamp: when the trigger of the micro-batch started.
        query_name, query_id, run_id: the query; its name is None if it has none.
        batch_id: number of the micro-batch.
        input_rows: rows that the query read; Spark counts them again if a batch is read twice.
        input_rows_per_second: these rows by the time since the trigger before.
        processed_rows_per_second: these rows by the time of this trigger.
        observed_bytes: bytes of keys and values; None without `observe_bytes`.
        processed_bytes_per_second: these bytes by the time of this trigger.
        trigger_ms: time of the whole micro-batch.
        latest_offset_ms: time in which the sources planned it; the kraft source sends its requests to the leader then.
        add_batch_ms: time of its tasks and of the sink; an append of the kraft sink is a part of it.
        commit_ms: time in which Spark wrote the offsets and the commit of the batch into the checkpoint.
        source: number of the source in the query, from 0.
        cluster_id: of the quorum.
        start_offset, end_offset: of the batch, half-open; the start is None if it is unknown.
        latest_offset: the end of the log when the batch was planned; None if it is unknown.
        lag_offsets: `latest_offset - end_offset`; None if it is unknown.
        epoch: the highest leader epoch in these offsets.
        leader_changes: how often the epoch rose since the query was started.
    """

    timestamp: datetime
    query_name: str | None
    query_id: str
    run_id: str
    batch_id: int
    input_rows: int
    input_rows_per_second: float
    processed_rows_per_second: float
    observed_bytes: int | None
    processed_bytes_per_second: float | None
    trigger_ms: int | None
    latest_offset_ms: int | None
    add_batch_ms: int | None
    commit_ms: int | None
    source: int | None
    cluster_id: str | None
    start_offset: int | None
    end_offset: int | None
    latest_offset: int | None
    lag_offsets: int | None
    epoch: int | None
    leader_changes: int | None


PROGRESS_SCHEMA = StructType(
    [
        StructField("timestamp", TimestampType(), nullable=False),
        StructField("query_name", StringType()),
        StructField("query_id", StringType(), nullable=False),
        StructField("run_id", StringType(), nullable=False),
        StructField("batch_id", LongType(), nullable=False),
        StructField("input_rows", LongType(), nullable=False),
        StructField("input_rows_per_second", DoubleType(), nullable=False),
        StructField("processed_rows_per_second", DoubleType(), nullable=False),
        StructField("observed_bytes", LongType()),
        StructField("processed_bytes_per_second", DoubleType()),
        StructField("trigger_ms", LongType()),
        StructField("latest_offset_ms", LongType()),
        StructField("add_batch_ms", LongType()),
        StructField("commit_ms", LongType()),
        StructField("source", IntegerType()),
        StructField("cluster_id", StringType()),
        StructField("start_offset", LongType()),
        StructField("end_offset", LongType()),
        StructField("latest_offset", LongType()),
        StructField("lag_offsets", LongType()),
        StructField("epoch", IntegerType()),
        StructField("leader_changes", IntegerType()),
    ]
)
"""The fields of `ProgressRow` as columns, in the same order."""
