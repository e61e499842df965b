"""How the driver commits a write: as one batch, or by the parts of the tasks and one of its own."""

from __future__ import annotations

import pyarrow as pa
import pytest

from datasource import parts, write_commit, write_task
from datasource.batch_writer import KraftBatchWriter
from datasource.options import WriteOptions
from datasource.stream_writer import KraftStreamWriter
from datasource.task_rows import Query, TaskRows
from datasource.write_commit import append_rows
from datasource.write_errors import WriteTooLargeError
from raft.client import WriteKey
from raft.errors import QuorumUnavailableError, RaftError
from raft.types import ControlType
from tests.datasource.leader_in_memory import LeaderInMemory

KEY = WriteKey("a query", 3)
SERVERS = {"kraft.bootstrap.servers": "nowhere.invalid:1", "kraft.default.api.timeout.ms": "1"}
OPTIONS = WriteOptions.of(SERVERS)
QUERY = Query(query_id="a query", checkpoint_location=None)


def rows(*values: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"value": list(values)})


def connect(monkeypatch: pytest.MonkeyPatch, leader: LeaderInMemory) -> LeaderInMemory:
    for module in (write_task, write_commit):
        monkeypatch.setattr(module, "client_for", lambda *_: leader)
    return leader


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> LeaderInMemory:
    """A leader; a task with more than 100 bytes appends a part, in batches of up to 200 bytes."""
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 100)
    monkeypatch.setattr(parts, "BATCH_BYTES", 200)
    return connect(monkeypatch, LeaderInMemory())


def task(*values: str, key: WriteKey = KEY) -> TaskRows:
    return write_task.collect_rows([rows(*values)] if values else [], OPTIONS, key, partition_id=0)


def commit(*tasks: TaskRows, options: WriteOptions = OPTIONS, key: WriteKey = KEY) -> None:
    append_rows(options, key, tasks, what="a write", conflict_remedy="none")


LARGE = tuple(f"value {at}" for at in range(30))


def test_write_of_no_rows_sends_no_request() -> None:
    commit(task())


def test_small_rows_of_all_tasks_are_one_batch(leader: LeaderInMemory) -> None:
    commit(task("b", "a"), task(), task("c"))

    assert leader.values() == [b"b", b"a", b"c"]
    assert [header.is_transactional for header in leader.log] == [False]


@pytest.mark.rule("TXN-6")
def test_parts_and_small_rows_are_committed_together_and_once(leader: LeaderInMemory) -> None:
    tasks = [task("small"), task(*LARGE), task("also small")]
    before = leader.values()

    commit(*tasks)
    commit(*tasks)

    assert before == []
    assert sorted(leader.values(), key=str) == sorted([b"small", b"also small", *map(str.encode, LARGE)], key=str)
    assert [value for value in leader.values() if value not in (b"small", b"also small")] == [
        value.encode() for value in LARGE
    ]
    assert [header.control_types for header in leader.log].count((ControlType.WRITE_COMMIT,)) == 1
    assert leader.open_parts == 0


@pytest.mark.rule("TXN-6")
def test_attempt_that_was_not_chosen_is_aborted(leader: LeaderInMemory) -> None:
    twin, winner = task(*LARGE), task(*LARGE)
    assert twin.part != winner.part

    commit(winner)

    assert leader.values() == [value.encode() for value in LARGE]
    assert leader.open_parts == 0


@pytest.mark.rule("TXN-6", "CLIENT-11")
def test_replayed_write_is_the_same_whether_it_is_small_or_large(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(task(*LARGE))
    monkeypatch.setattr(write_task, "MESSAGE_BYTES", 1 << 20)

    commit(task(*LARGE))

    assert leader.values() == [value.encode() for value in LARGE]


def test_messages_that_are_too_many_for_a_batch_become_a_part_of_the_driver(leader: LeaderInMemory) -> None:
    options = WriteOptions.of(SERVERS | {"kraft.max.request.size": "150"})

    commit(*(task(f"row {at}") for at in range(20)), options=options)

    assert leader.values() == [f"row {at}".encode() for at in range(20)]
    assert leader.open_parts == 0


def test_batch_that_the_nodes_find_too_large_becomes_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = connect(monkeypatch, LeaderInMemory(max_bytes=400))

    commit(task(*LARGE))

    assert leader.values() == [value.encode() for value in LARGE]
    assert all(header.size_bytes <= 400 for header in leader.log)


def test_row_that_is_too_large_is_an_error_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = connect(monkeypatch, LeaderInMemory(max_bytes=400))

    with pytest.raises(WriteTooLargeError, match="a row is larger than the quorum accepts"):
        commit(task("a", "x" * 500))

    assert leader.values() == []


def test_cluster_that_is_no_quorum_of_ours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, LeaderInMemory(level=0))

    with pytest.raises(RaftError, match="cluster in memory is not a quorum of kraft-spark and can only be read"):
        commit(task("a"))


@pytest.mark.rule("TXN-4")
def test_failed_writes_abort_their_parts(leader: LeaderInMemory) -> None:
    batch = KraftBatchWriter(WriteOptions.of(SERVERS | {"txnAppId": "a query", "txnVersion": "3"}))
    stream = KraftStreamWriter(OPTIONS)

    task(*LARGE)
    batch.abort([None])
    after_the_batch = leader.open_parts
    staged = write_task.collect_rows([rows(*LARGE)], OPTIONS, KEY, partition_id=0, query=QUERY)
    stream.abort([staged, None], 3)

    assert (after_the_batch, leader.open_parts) == (0, 0)
    assert leader.values() == []


def test_failed_stream_without_a_finished_task_aborts_nothing(leader: LeaderInMemory) -> None:
    task(*LARGE)

    KraftStreamWriter(OPTIONS).abort([None], 3)

    assert leader.open_parts == 1


def test_failed_abort_is_only_logged(
    leader: LeaderInMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_write: object) -> None:
        raise QuorumUnavailableError("no leader")

    monkeypatch.setattr(leader, "abort_write", fail)

    write_commit.abort_parts(OPTIONS, KEY)

    assert "the parts of a failed write are not aborted yet: no leader" in caplog.text


def test_cluster_of_kafka_has_nothing_to_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = connect(monkeypatch, LeaderInMemory(level=0))
    monkeypatch.setattr(leader, "abort_write", None)

    write_commit.abort_parts(OPTIONS, KEY)
