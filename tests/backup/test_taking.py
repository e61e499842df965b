"""Backups of real quorums: taken, restored, and read again."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raft.backup import backup, take_backup, verify_backup
from raft.client import Client, WriteKey
from raft.client.driver import Arguments, Call
from raft.client.replication import Replicated, SnapshotPiece
from raft.client.steps import Result
from raft.errors import ConfigError, QuorumUnavailableError
from raft.records.batch import build_batch
from raft.records.record import Record
from tests.backup.quorums import compacting, restore_all, without_cluster_id
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, TOPIC, Properties, voters_properties
from tests.node.harness.waiting import eventually
from tests.node.test_compaction import KEYS, ROUNDS, start_offset, state, write
from tests.workload.appenders import Appenders
from tests.workload.committed import read_all


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesInProcess]:
    """A quorum of three nodes."""
    with NodesInProcess(voters_properties(tmp_path / "source")) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def log_bytes(backup: Path) -> bytes:
    with tarfile.open(backup) as tar:
        members = [member for member in tar if member.name.endswith(".log")]
        return b"".join(tar.extractfile(member).read() for member in members)  # type: ignore[union-attr]


def test_restored_quorum_has_all_records_and_another_cluster_id(nodes: NodesInProcess, tmp_path: Path) -> None:
    with nodes.client() as client:
        for number in range(20):
            client.append(build_batch([Record(key=b"%d" % number, value=b"v%d" % number)]))
        before = read_all(client)
        manifest = take_backup(client, tmp_path / "backup.tar", segment_bytes=400)
    leader = nodes.wait_for_leader()
    segment = Path(nodes.configurations[leader]["log.dirs"]) / f"{TOPIC}-0" / f"{0:020d}.log"

    assert (manifest.cluster_id, manifest.topic, manifest.end_offset) == (CLUSTER_ID, TOPIC, 21)
    assert len(manifest.members) > 3, "segments"
    assert log_bytes(tmp_path / "backup.tar") == segment.read_bytes(), "byte for byte"
    assert not (tmp_path / "backup.tar.part").exists()
    assert verify_backup(tmp_path / "backup.tar") == manifest

    configurations = without_cluster_id(voters_properties(tmp_path / "restored"))
    cluster_id = restore_all(tmp_path / "backup.tar", configurations)
    with NodesInProcess(configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as client:
            client.append(batch_of(b"after"))
            after = read_all(client)
            assert client.cluster_id == cluster_id
    assert cluster_id != CLUSTER_ID
    assert [(each.key, each.value) for each in after] == [
        *((each.key, each.value) for each in before),
        (None, b"after"),
    ]
    assert [each.offset for each in after[:-1]] == [each.offset for each in before]


def test_client_of_the_old_quorum_refuses_the_restored_one(nodes: NodesInProcess, tmp_path: Path) -> None:
    with nodes.client() as client:
        client.append(batch_of(b"value"))
        take_backup(client, tmp_path / "backup.tar")
        configurations = without_cluster_id(voters_properties(tmp_path / "restored", voters=1))
        restore_all(tmp_path / "backup.tar", configurations)
        with NodesInProcess(configurations) as restored:
            restored.start().wait_for_leader()
            with restored.client() as other:
                other.start_over(cluster_id=CLUSTER_ID)
                with pytest.raises(ConfigError, match=f"expected {CLUSTER_ID}"):
                    other.last_stable_offset()


def test_repeated_write_is_recognized_after_the_restore(nodes: NodesInProcess, tmp_path: Path) -> None:
    key = WriteKey("a query", 7)
    batch = batch_of(b"once", producer_id=key.producer_id, epoch=key.producer_epoch, sequence=key.base_sequence)
    with nodes.client() as client:
        first = client.append(batch)
        take_backup(client, tmp_path / "backup.tar")
    configurations = without_cluster_id(voters_properties(tmp_path / "restored", voters=1))
    restore_all(tmp_path / "backup.tar", configurations)
    with NodesInProcess(configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as client:
            again = client.append(batch)
            values = [record.value for record in read_all(client)]

    assert again.base_offset == first.base_offset
    assert values == [b"once"]


def test_compacted_quorum_is_restored_equal_to_the_model(tmp_path: Path) -> None:
    model: dict[bytes, bytes] = {b"keyed": b"once"}
    key = WriteKey("a query", 7)
    keyed = build_batch(
        [Record(key=b"keyed", value=b"once")],
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
    )
    with NodesInProcess(compacting(tmp_path / "source")) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            first = client.append(keyed)
            for round_ in range(ROUNDS):
                write(client, model, round_)
            eventually(lambda: all(start_offset(nodes, each) for each in nodes.running), "logs that were cut")
            manifest = take_backup(client, tmp_path / "backup.tar")
            write(client, {}, ROUNDS)

    assert manifest.members[0].name.endswith(".checkpoint")
    assert manifest.cleanup_policy == "compact"
    assert manifest.first_offset > 0
    plain = without_cluster_id(voters_properties(tmp_path / "plain", voters=1))
    with pytest.raises(ConfigError, match=r"^cleanup\.policy=none: expected compact"):
        restore_all(tmp_path / "backup.tar", plain)
    configurations = without_cluster_id(compacting(tmp_path / "restored"))
    restore_all(tmp_path / "backup.tar", configurations)
    with NodesInProcess(configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as client:
            assert state(client) == model
            assert client.append(keyed).base_offset == first.base_offset, "its writer is remembered by the snapshot"
            write(client, model, ROUNDS + 1)
            assert state(client) == model
    assert 0 < first.base_offset < manifest.first_offset


class InterruptedClient(Client):
    """A client that lets something happen once, after the first response of a kind.

    Args:
        nodes: where the quorum is.
        is_due: whether it happens after this result of a call.
        happen: what happens.
    """

    def __init__(self, nodes: NodesInProcess, is_due: Callable[[object], bool], happen: Callable[[], None]) -> None:
        super().__init__(nodes.client(api_timeout_ms=30_000).settings)
        self._is_due = is_due
        self._happen = happen
        self.has_happened = False

    def call(self, begin: Call[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        found = super().call(begin, *args, **kwargs)
        if not self.has_happened and self._is_due(found):
            self.has_happened = True
            self._happen()
        return found


def test_backup_while_appends_run_and_the_leader_is_replaced(nodes: NodesInProcess, tmp_path: Path) -> None:
    with nodes.client() as client:
        for number in range(40):
            client.append(batch_of(b"%d" % number + bytes(200_000)))
        acknowledged = client.last_stable_offset()
    left = nodes.wait_for_leader()
    with (
        Appenders(nodes.client, count=2) as appenders,
        InterruptedClient(
            nodes,
            lambda found: isinstance(found, Replicated) and bool(found.records),
            lambda: nodes.stop(left),
        ) as client,
    ):
        appenders.wait_for_progress()
        manifest = take_backup(client, tmp_path / "backup.tar")
        appenders.wait_for_progress()
    nodes.wait_for_leader(other_than=left)
    with nodes.client() as other:
        records = [record for record in read_all(other) if record.offset < manifest.end_offset]

    assert client.has_happened
    assert manifest.end_offset >= acknowledged
    configurations = without_cluster_id(voters_properties(tmp_path / "restored", voters=1))
    restore_all(tmp_path / "backup.tar", configurations)
    with NodesInProcess(configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as other:
            assert read_all(other) == records


def copy_partition(source: Properties, target: Properties) -> None:
    """Make a stopped node's log and snapshots those of another one. Its election state stays."""
    folder, other = (Path(each["log.dirs"]) / f"{TOPIC}-0" for each in (source, target))
    state = (other / "quorum-state").read_bytes()
    shutil.rmtree(other)
    shutil.copytree(folder, other)
    (other / "quorum-state").write_bytes(state)


def test_snapshot_of_another_leader_begins_the_backup_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    small_pieces = {"controller.quorum.fetch.snapshot.max.bytes": "500"}
    configurations = {
        node_id: properties | small_pieces for node_id, properties in compacting(tmp_path / "source").items()
    }
    model: dict[bytes, bytes] = {}
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for round_ in range(ROUNDS):
                write(client, model, round_)
        eventually(lambda: all(start_offset(nodes, each) for each in nodes.running), "snapshots")
        for node_id in configurations:
            nodes.stop(node_id)
        # Each node makes snapshots of its own. Now all have the same ones.
        for node_id in (2, 3):
            copy_partition(configurations[1], configurations[node_id])
        left = nodes.start().wait_for_leader()
        with InterruptedClient(
            nodes, lambda found: isinstance(found, SnapshotPiece), lambda: nodes.stop(left)
        ) as client:
            take_backup(client, tmp_path / "backup.tar")

    assert client.has_happened
    assert any(message.startswith("the backup begins anew: another node leads, in ") for message in caplog.messages)
    restored_configurations = without_cluster_id(compacting(tmp_path / "restored", voters=1))
    restore_all(tmp_path / "backup.tar", restored_configurations)
    with NodesInProcess(restored_configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as other:
            assert state(other) == model


def test_log_that_is_shortened_meanwhile_begins_the_backup_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_FETCH_BYTES", 1_000)
    model: dict[bytes, bytes] = {}
    with NodesInProcess(compacting(tmp_path / "source", voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for round_ in range(4):
                write(client, model, round_)

            def append_more() -> None:
                for round_ in range(4, ROUNDS):
                    write(client, model, round_)
                eventually(lambda: start_offset(nodes, 1) > 4 * KEYS, "a log that begins later")

            with InterruptedClient(
                nodes, lambda found: isinstance(found, Replicated) and bool(found.records), append_more
            ) as copying:
                manifest = take_backup(copying, tmp_path / "backup.tar")

    assert any(message.startswith("the backup begins anew: the leader's log begins ") for message in caplog.messages)
    assert manifest.first_offset > 4 * KEYS
    configurations = without_cluster_id(compacting(tmp_path / "restored", voters=1))
    restore_all(tmp_path / "backup.tar", configurations)
    with NodesInProcess(configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as other:
            assert state(other) == model


def test_existing_file_is_refused(nodes: NodesInProcess, tmp_path: Path) -> None:
    (tmp_path / "backup.tar").write_text("precious")

    with nodes.client() as client, pytest.raises(ConfigError, match="exists: expected the name of a new file"):
        take_backup(client, tmp_path / "backup.tar")

    assert (tmp_path / "backup.tar").read_text() == "precious"


def test_backup_of_a_quorum_without_leader_leaves_no_file(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path / "source")) as nodes:
        nodes.start(1)
        with nodes.client(api_timeout_ms=500) as client, pytest.raises(QuorumUnavailableError):
            take_backup(client, tmp_path / "backup.tar")

    assert list(tmp_path.glob("backup.tar*")) == []
