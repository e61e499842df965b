"""What tasks return to the driver: few rows in the message, many as a part of the write."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from datasource import parts, write_task
from datasource.columns import encode_batch
from datasource.options import WriteOptions
from datasource.task_rows import Query, TaskRows
from datasource.write_errors import WriteTooLargeError
from datasource.write_task import collect_rows, message_bytes
from raft.client import WriteKey
from raft.errors import RaftError
from raft.records.header import read_header
from tests.datasource.leader_in_memory import LeaderInMemory

KEY = WriteKey("a query", 3)
QUERY = Query(query_id="a query", checkpoint_location=None)
OPTIONS = WriteOptions.of({"kraft.bootstrap.servers": "nowhere.invalid:1"})


def rows(*values: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"key": [f"key of {value[:9]}" for value in values], "value": list(values)})


def rows_in(task: TaskRows) -> list[str]:
    assert task.rows is not None, "within the limit"
    return [row["value"] for row in pa.ipc.open_stream(task.rows).read_all().to_pylist()]


def connect(monkeypatch: pytest.MonkeyPatch, leader: LeaderInMemory) -> LeaderInMemory:
    monkeypatch.setattr(write_task, "client_for", lambda *_: leader)
    return leader


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> LeaderInMemory:
    return connect(monkeypatch, LeaderInMemory())


def test_task_keeps_its_rows_in_their_order() -> None:
    batches = [rows("b", "a"), rows(), rows("c")]

    task = pickle.loads(pickle.dumps(collect_rows(batches, OPTIONS, KEY, partition_id=0, query=QUERY)))

    assert rows_in(task) == ["b", "a", "c"]
    assert (task.part, task.row_count, task.query) == (None, 3, QUERY)


@pytest.mark.parametrize("batches", [[], [rows()], [rows(), rows()]], ids=["nothing", "an empty one", "empty ones"])
def test_task_without_rows_has_nothing_to_write(batches: list[pa.RecordBatch]) -> None:
    task = collect_rows(batches, OPTIONS, KEY, partition_id=0)

    assert task == TaskRows(rows=None, part=None, row_count=0, query=None)


@pytest.mark.rule("TXN-6")
def test_task_with_many_rows_appends_them_as_a_part_in_their_order(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)
    monkeypatch.setattr(parts, "BATCH_BYTES", 200)
    values = [f"value {at}" for at in range(20)]

    task = pickle.loads(
        pickle.dumps(collect_rows([rows(*values[:7]), rows(*values[7:])], OPTIONS, KEY, partition_id=0))
    )

    assert (task.rows, task.row_count) == (None, 20)
    assert task.part is not None
    whole = read_header(
        encode_batch(
            rows(*values),
            producer_id=KEY.producer_id,
            producer_epoch=0,
            base_sequence=0,
            timestamp_ms=0,
            max_bytes=9999,
        )
    )
    assert (task.part.record_count, task.part.content_checksum) == (20, whole.content_checksum)
    assert len(leader.log) > 3
    assert max(header.size_bytes for header in leader.log) <= 200
    assert [header.base_sequence for header in leader.log] == [header.base_offset - 11 + 0 for header in leader.log]


def test_row_that_is_larger_than_a_batch_has_a_batch_of_its_own(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "BATCH_BYTES", 200)
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)

    task = collect_rows([rows("a", "x" * 1000, "b")], OPTIONS, KEY, partition_id=0)

    assert [header.record_count for header in leader.log] == [1, 1, 1]
    assert task.row_count == 3


def test_batches_become_smaller_when_the_nodes_accept_no_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = connect(monkeypatch, LeaderInMemory(max_bytes=1000))
    values = [f"value {at:04d}" for at in range(2000)]
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)

    task = collect_rows([rows(*values)], OPTIONS, KEY, partition_id=0)

    assert task.row_count == 2000
    assert all(header.size_bytes <= 1000 for header in leader.log)
    assert [each for header in leader.log for each in (header.base_sequence,)] == sorted(
        header.base_sequence for header in leader.log
    )


def test_row_that_the_nodes_do_not_accept_is_an_error_that_says_what_to_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = connect(monkeypatch, LeaderInMemory(max_bytes=1000))
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)

    with pytest.raises(WriteTooLargeError, match=r"raise both .* message\.max\.bytes on the nodes") as error:
        collect_rows([rows("a", "x" * 2000, "b")], OPTIONS, KEY, partition_id=0)

    assert "Nothing was written" in str(error.value)
    assert leader.values() == []


@pytest.mark.rule("TXN-6")
def test_rows_of_a_write_that_is_in_the_log_are_counted_and_not_sent_again(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)
    monkeypatch.setattr(parts, "BATCH_BYTES", 200)
    written = encode_batch(
        rows("a"),
        producer_id=KEY.producer_id,
        producer_epoch=KEY.producer_epoch,
        base_sequence=KEY.base_sequence,
        timestamp_ms=0,
        max_bytes=1000,
    )
    leader.append(written)

    task = collect_rows([rows(*(f"value {at}" for at in range(20)))], OPTIONS, KEY, partition_id=0)

    assert len(leader.log) == 1
    assert task.part is not None
    assert task.part.record_count == 20
    assert task.part.content_checksum != 0


def test_cluster_of_kafka_is_refused_before_a_part_is_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = connect(monkeypatch, LeaderInMemory(level=0))
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)

    with pytest.raises(RaftError, match="cluster in memory is not a quorum of kraft-spark and can only be read"):
        collect_rows([rows(*(f"value {at}" for at in range(20)))], OPTIONS, KEY, partition_id=0)

    assert leader.log == []


def test_driver_gets_a_bounded_number_of_bytes_from_any_number_of_tasks() -> None:
    assert message_bytes(0) == write_task.MESSAGE_BYTES
    assert sum(map(message_bytes, range(100_000))) < 13 * write_task.ALL_MESSAGES_BYTES
