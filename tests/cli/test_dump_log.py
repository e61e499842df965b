"""`kraft dump-log`: prints every file of a node, and reports damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.storage.producer_snapshot import encode_producer_snapshot
from raft.transactions import (
    CommitImage,
    EndedWrite,
    OpenTransaction,
    ProducerStateImage,
    TransactionalProducer,
    TransactionsImage,
)
from raft.types import Epoch, Offset
from raft.writers import TableImage, Written
from tests.cli.in_process import KraftInProcess
from tests.node.harness.batches import resealed
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, TOPIC, voters_properties
from tests.node.harness.requests import TOPIC_ID
from tests.processes.kraft import kraft

FIRST = build_batch([Record(key=b"k", value=b"v", headers=(("h", b"1"),), timestamp_ms=5)], epoch=Epoch(3))
SECOND = build_batch([Record(value=b"\xff", timestamp_ms=6)], base_offset=Offset(1), epoch=Epoch(3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a node that ran once."""
    configurations = voters_properties(tmp_path_factory.mktemp("dumped"), voters=1)
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            client.append(FIRST)
    return Path(configurations[1]["log.dirs"])


def rows(here: KraftInProcess, path: Path) -> list[dict[str, Any]]:
    done = here("dump-log", str(path), "--json")
    assert (done.exit_code, done.errors) == (0, "")
    return [json.loads(line) for line in done.output.splitlines()]


def written(folder: Path, data: bytes, name: str = f"{0:020d}.log") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_segment_of_a_node_is_shown_batch_by_batch(here: KraftInProcess, folder: Path) -> None:
    change_batch, change, batch, record = rows(here, folder / f"{TOPIC}-0" / f"{0:020d}.log")

    assert (change_batch["baseOffset"], change_batch["isControl"], change_batch["position"]) == (0, True, 0)
    assert (change["type"], change["leaderId"], change["voters"]) == ("LeaderChange", 1, [{"voterId": 1}])
    assert batch == {
        "position": change_batch["size"],
        "baseOffset": 1,
        "lastOffset": 1,
        "count": 1,
        "partitionLeaderEpoch": 1,
        "producerId": -1,
        "producerEpoch": -1,
        "baseSequence": -1,
        "isTransactional": False,
        "isControl": False,
        "maxTimestamp": 5,
        "size": len(FIRST),
        "compression": 0,
    }
    assert record == {"offset": 1, "timestamp": 5, "key": "k", "value": "v", "headers": [["h", "1"]]}


def test_segment_is_shown_in_words(folder: Path) -> None:
    done = kraft("dump-log", str(folder / f"{TOPIC}-0" / f"{0:020d}.log"))

    assert (done.exit_code, done.errors) == (0, "")
    batch, record = done.output.splitlines()[2:]
    assert batch.startswith("position: 91 baseOffset: 1 lastOffset: 1 count: 1 partitionLeaderEpoch: 1 ")
    assert record == '| offset: 1 timestamp: 5 key: "k" value: "v" headers: [["h", "1"]]'


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("meta.properties", {"cluster.id": CLUSTER_ID, "node.id": "1", "version": "1"}),
        (f"{TOPIC}-0/partition.metadata", {"topic_id": TOPIC_ID, "version": "0"}),
        (f"{TOPIC}-0/quorum-state", {"leaderId": 1, "leaderEpoch": 1, "votedId": 1}),
        (f"{TOPIC}-0/leader-epoch-checkpoint", {"epoch": 1, "startOffset": 0}),
        (f"{TOPIC}-0/recovery-point-offset-checkpoint", {"topic": TOPIC, "partition": 0, "recoveryPoint": 2}),
        (f"{TOPIC}-0/replication-offset-checkpoint", {"topic": TOPIC, "partition": 0, "highWatermark": 2}),
        (f"{TOPIC}-0/flushed-offsets", {"recoveryPoint": 2, "flushedEnd": 2, "highWatermark": 1}),
    ],
)
def test_small_file_is_shown(here: KraftInProcess, folder: Path, name: str, row: dict[str, Any]) -> None:
    (shown,) = rows(here, folder / name)

    assert shown.items() >= row.items()


def test_producer_snapshot_is_shown(here: KraftInProcess, tmp_path: Path) -> None:
    written_last = Written(
        epoch=0,
        sequence=3,
        record_count=2,
        base_offset=Offset(5),
        end_offset=Offset(7),
        log_time_ms=100,
        content_checksum=9,
    )
    writers = TableImage(end_offset=Offset(8), log_time_ms=100, first_log_time_ms=1, histories={17: (written_last,)})
    content = encode_producer_snapshot(ProducerStateImage(writers=writers))

    header, row = rows(here, written(tmp_path, content, f"{8:020d}.snapshot"))

    assert header == {"endOffset": 8, "logTime": 100, "producers": 1}
    assert row == {
        "producerId": 17,
        "producerEpoch": 0,
        "baseSequence": 3,
        "count": 2,
        "baseOffset": 5,
        "lastOffset": 6,
        "logTime": 100,
        "contentChecksum": 9,
    }


def test_transactions_in_a_producer_snapshot_are_shown(here: KraftInProcess, tmp_path: Path) -> None:
    part = OpenTransaction(
        producer_id=1 << 61,
        producer_epoch=0,
        first_offset=Offset(2),
        last_offset=Offset(4),
        record_count=3,
        content_checksum=0,
    )
    transactions = TransactionsImage(
        transactions=(part,),
        producers=(
            TransactionalProducer(name="orders", producer_id=17, producer_epoch=1, timeout_ms=900, used_at=Offset(0)),
        ),
        commits=(CommitImage(offset=Offset(5), first_offset=Offset(2), missing=(part.producer_id,)),),
        ended_writes=(EndedWrite(first_offset=Offset(1), end_offset=Offset(7)),),
    )
    writers = TableImage(end_offset=Offset(8), log_time_ms=100, first_log_time_ms=1, histories={})
    content = encode_producer_snapshot(ProducerStateImage(writers=writers, transactions=transactions))

    _, *shown = rows(here, written(tmp_path, content, f"{8:020d}.snapshot"))

    assert shown == [
        {"openTransaction": 1 << 61, "producerEpoch": 0, "firstOffset": 2, "lastOffset": 4, "count": 3},
        {"transactionalId": "orders", "producerId": 17, "producerEpoch": 1, "timeoutMs": 900},
        {"unfinishedCommit": 5, "firstOffset": 2, "missing": [1 << 61]},
        {"endedWrites": 7, "firstOffset": 1},
    ]


def test_damaged_producer_snapshot_is_refused(here: KraftInProcess, tmp_path: Path) -> None:
    path = written(tmp_path, bytes(10), f"{8:020d}.snapshot")

    done = here("dump-log", str(path), "--json")

    assert done.exit_code == 1
    assert done.errors == f"kraft: {path} is damaged at byte 0: producer snapshot of version 0, expected 1\n"


def test_compressed_batch_is_opened(here: KraftInProcess, tmp_path: Path) -> None:
    batch = build_batch([Record(value=b"v" * 50)], compression=Compression.GZIP)

    header, record = rows(here, written(tmp_path, batch))

    assert (header["compression"], record["value"]) == (1, "v" * 50)


def test_snapshot_is_shown_as_a_segment(here: KraftInProcess, tmp_path: Path) -> None:
    path = written(tmp_path, FIRST, f"{1:020d}-{3:010d}.checkpoint")

    assert [row.get("value") for row in rows(here, path)] == [None, "v"]


def test_bytes_that_are_no_text_are_shown_escaped(here: KraftInProcess, tmp_path: Path) -> None:
    assert rows(here, written(tmp_path, SECOND))[1]["value"] == "\\xff"


@pytest.mark.parametrize(
    ("data", "size"), [pytest.param(SECOND[:30], 30, id="incomplete"), pytest.param(b"\x00" * 5, 5, id="a few bytes")]
)
def test_last_batch_may_be_incomplete(here: KraftInProcess, tmp_path: Path, data: bytes, size: int) -> None:
    *_, last = rows(here, written(tmp_path, FIRST + data))

    assert last == {"position": len(FIRST), "incomplete": f"{size} bytes at the end are not a whole batch"}


@pytest.mark.parametrize(
    ("data", "good_rows", "position", "damage"),
    [
        pytest.param(FIRST + SECOND[:-1] + b"!", 2, len(FIRST), "checksum", id="another byte"),
        pytest.param(FIRST + b"\x00" * 100, 2, len(FIRST), "magic 0", id="zeros"),
        pytest.param(
            resealed(FIRST, record_count=7) + SECOND, 2, 0, "record at byte", id="records that do not fit their header"
        ),
    ],
)
def test_damage_ends_the_output_and_is_an_error(
    here: KraftInProcess, tmp_path: Path, data: bytes, good_rows: int, position: int, damage: str
) -> None:
    path = written(tmp_path, data)

    done = here("dump-log", str(path), "--json")

    shown = [json.loads(line) for line in done.output.splitlines()]
    assert len(shown) == good_rows + 1
    assert shown[-1]["position"] == position
    assert damage in shown[-1]["damage"]
    assert (done.exit_code, done.errors) == (
        1,
        f"kraft: {path} is damaged at byte {position}: {shown[-1]['damage']}\n",
    )


def test_empty_segment_is_nothing(here: KraftInProcess, tmp_path: Path) -> None:
    assert rows(here, written(tmp_path, b"")) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("leader-epoch-checkpoint", b"0\n1\nx\n"),
        ("leader-epoch-checkpoint", b"0\n1\n1 2 3\n"),
        ("leader-epoch-checkpoint", b"0\n1\none two\n"),
        ("recovery-point-offset-checkpoint", b"0\n1\nt 0\n"),
        ("replication-offset-checkpoint", b"0\n1\nt 0\n"),
        ("flushed-offsets", b"2 2 2\n"),
        ("quorum-state", b"{half"),
        ("quorum-state", b"5"),
        ("quorum-state", b"[1]"),
    ],
)
def test_damaged_small_file_is_refused(here: KraftInProcess, tmp_path: Path, name: str, content: bytes) -> None:
    path = written(tmp_path, content, name)

    done = here("dump-log", str(path))

    assert (done.exit_code, done.output) == (1, "")
    (line,) = done.errors.splitlines()
    assert line.startswith(f"kraft: {path} is damaged: ")


@pytest.mark.parametrize("name", ["notes.txt", "node.log"])
def test_file_of_another_kind_is_refused(here: KraftInProcess, tmp_path: Path, name: str) -> None:
    done = here("dump-log", str(written(tmp_path, b"", name)))

    assert done.exit_code == 1
    assert done.errors == (
        f"kraft: cannot show {name}: expected one of <offset>.log, <offset>.snapshot, "
        "<offset>-<epoch>.checkpoint, "
        "leader-epoch-checkpoint, recovery-point-offset-checkpoint, replication-offset-checkpoint, flushed-offsets, "
        "quorum-state, meta.properties, partition.metadata\n"
    )


def test_file_that_cannot_be_read_is_refused(here: KraftInProcess, tmp_path: Path) -> None:
    missing, folder = tmp_path / "0.log", tmp_path

    assert here("dump-log", str(missing)).errors == f"kraft: cannot read {missing}: No such file or directory\n"
    assert here("dump-log", str(folder)).errors == f"kraft: cannot read {folder}: Is a directory\n"
