"""The rows of a read that are written, with their timestamps: in the message of a task, as a part, and in the log."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from datasource import parts, write_commit, write_task
from datasource.options import WriteOptions
from datasource.task_rows import TaskRows
from datasource.write_errors import of_refusal
from datasource.write_task import collect_rows
from raft.client import WriteKey
from raft.errors import ErrorCode, refusal
from raft.records.batch import read_records
from raft.types import BatchHeader
from tests.datasource.leader_in_memory import LeaderInMemory

KEY = WriteKey("a query", 3)
SERVERS = {"kraft.bootstrap.servers": "nowhere.invalid:1"}
KEEP = WriteOptions.of(SERVERS | {"readColumns": "keepTimestamps"})
DROP = WriteOptions.of(SERVERS | {"readColumns": "drop"})
TIMES_MS = [5_000, 1_000, 9_000, 9_000, 3_000, 0]


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> LeaderInMemory:
    leader = LeaderInMemory()
    for module in (write_task, write_commit):
        monkeypatch.setattr(module, "client_for", lambda *_: leader)
    return leader


def of_a_read(times_ms: Sequence[int | None] = TIMES_MS) -> pa.RecordBatch:
    """Rows with all columns of a read."""
    count = len(times_ms)
    times = pa.array(times_ms, pa.int64()).cast(pa.timestamp("ms")).cast(pa.timestamp("us", tz="UTC"))
    return pa.record_batch(
        {
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array([f"value {at}" for at in range(count)]).cast(pa.binary()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": times,
            "epoch": pa.array([1] * count, pa.int32()),
        }
    )


def written(leader: LeaderInMemory, record_batches: list[pa.RecordBatch], options: WriteOptions) -> TaskRows:
    task = collect_rows(record_batches, options, KEY, partition_id=0)
    write_commit.append_rows(options, KEY, [task], what="a write", conflict_remedy="")
    return task


def times_in(leader: LeaderInMemory) -> list[int]:
    batches = [batch for batch in leader.batches if not batch.header.is_control]
    return [record.timestamp_ms for batch in batches for record in read_records(batch.payload)]


def data_headers(leader: LeaderInMemory) -> list[BatchHeader]:
    return [header for header in leader.log if not header.is_control]


def test_timestamps_are_kept_in_one_batch(leader: LeaderInMemory) -> None:
    task = written(leader, [of_a_read(), of_a_read([7_000])], KEEP)

    assert task.part is None
    assert times_in(leader) == [*TIMES_MS, 7_000]
    (header,) = data_headers(leader)
    assert header.max_timestamp_ms == 9_000


def test_timestamps_are_kept_in_the_batches_of_a_part(leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)
    monkeypatch.setattr(parts, "BATCH_BYTES", 130)

    task = written(leader, [of_a_read(), of_a_read([7_000])], KEEP)

    assert task.part is not None
    assert times_in(leader) == [*TIMES_MS, 7_000]
    assert len(data_headers(leader)) == 2
    assert all(
        header.max_timestamp_ms == max(record.timestamp_ms for record in read_records(batch.payload))
        for batch, header in zip(leader.batches, leader.log, strict=True)
        if not header.is_control
    )


def test_batch_of_far_apart_times_is_divided_when_it_is_larger_than_a_request(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of a timestamp depends on the first row of the batch, which is not known when rows are collected."""
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)
    options = WriteOptions.of(SERVERS | {"readColumns": "keepTimestamps", "kraft.max.request.size": "150"})
    times_ms = [0, *(1 << at for at in range(40)), 5]

    written(leader, [of_a_read([time_ms]) for time_ms in times_ms], options)

    assert times_in(leader) == times_ms
    assert max(header.size_bytes for header in leader.log) <= 150


@pytest.mark.parametrize("message_bytes", [100_000, 100], ids=["one batch", "a part"])
def test_repeated_write_with_timestamps_is_the_same_write(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch, message_bytes: int
) -> None:
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", message_bytes)

    written(leader, [of_a_read()], KEEP)
    written(leader, [of_a_read()], KEEP)

    assert leader.values() == [f"value {at}".encode() for at in range(len(TIMES_MS))]


@pytest.mark.parametrize("message_bytes", [100_000, 100], ids=["one batch", "a part"])
def test_dropped_columns_leave_the_time_of_the_write(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch, message_bytes: int
) -> None:
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", message_bytes)

    written(leader, [of_a_read()], DROP)

    (time_ms,) = set(times_in(leader))
    assert time_ms > max(TIMES_MS)
    assert len(leader.values()) == len(TIMES_MS)


def test_time_that_the_leader_refuses_is_explained() -> None:
    refused = refusal(ErrorCode.INVALID_TIMESTAMP, "INVALID_TIMESTAMP: Timestamp 7 is out of range")

    error = of_refusal(refused, KEEP.client)

    assert str(error) == (
        "the quorum refuses a timestamp (INVALID_TIMESTAMP: Timestamp 7 is out of range). With "
        "readColumns=keepTimestamps it is that of a row. Nothing was written"
    )


@pytest.mark.parametrize(
    ("times_ms", "message"),
    [([5, None], "the timestamp of a row is null"), ([5, -1], "a row is -1000 us after 1970-01-01")],
    ids=["null", "before 1970"],
)
def test_task_refuses_a_row_that_has_no_time(leader: LeaderInMemory, times_ms: list[int | None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        collect_rows([of_a_read(), of_a_read(times_ms)], KEEP, KEY, partition_id=0)

    assert leader.log == []
