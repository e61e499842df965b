"""Backups of real quorums: taken, verified, restored, and read again."""

from __future__ import annotations

import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.backup import restore_backup, take_backup, verify_backup
from raft.client import WriteKey
from raft.config import NodeConfig
from raft.errors import ConfigError, QuorumUnavailableError, StorageError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.records.split import walk_headers
from raft.storage.disk import DiskFiles
from raft.storage.restore_mark import RESTORE_MARK_NAME
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, TOPIC, Properties, voters_properties
from tests.node.harness.waiting import eventually
from tests.node.test_compaction import ROUNDS, start_offset, state, write
from tests.workload.appenders import Appenders
from tests.workload.committed import read_all


def compacting(folder: Path, *, voters: int = 3) -> dict[int, Properties]:
    """The configurations of a quorum that soon makes snapshots."""
    return voters_properties(
        folder,
        voters=voters,
        cleanup__policy="compact",
        metadata__log__max__record__bytes__between__snapshots="20000",
        metadata__max__retention__bytes="30000",
        min__cleanable__dirty__ratio="0.1",
    )


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesInProcess]:
    """A quorum of three nodes."""
    with NodesInProcess(voters_properties(tmp_path / "source")) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def without_cluster_id(configurations: dict[int, Properties]) -> dict[int, Properties]:
    return {
        node_id: {key: value for key, value in properties.items() if key != "cluster.id"}
        for node_id, properties in configurations.items()
    }


def restore_all(backup: Path, configurations: dict[int, Properties]) -> str:
    """Restore all nodes of a quorum; return its cluster id."""
    cluster_id = None
    for properties in configurations.values():
        cluster_id = restore_backup(backup, NodeConfig.from_properties(properties), cluster_id=cluster_id).cluster_id
    assert cluster_id is not None
    return cluster_id


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


def test_backup_while_appends_run_and_the_leader_is_replaced(nodes: NodesInProcess, tmp_path: Path) -> None:
    with nodes.client() as client:
        for number in range(40):
            client.append(batch_of(b"%d" % number + bytes(200_000)))
        acknowledged = client.last_stable_offset()
    left = nodes.wait_for_leader()
    with Appenders(nodes.client, count=2) as appenders, nodes.client(api_timeout_ms=30_000) as client:
        appenders.wait_for_progress()
        part = tmp_path / "backup.tar.part"

        def stop_leader() -> None:
            eventually(lambda: part.exists() and part.stat().st_size > 0, "a backup that has begun")
            nodes.stop(left)

        stopping = threading.Thread(target=stop_leader)
        stopping.start()
        manifest = take_backup(client, tmp_path / "backup.tar")
        stopping.join()
        appenders.wait_for_progress()
    nodes.wait_for_leader(other_than=left)
    with nodes.client() as client:
        records = [record for record in read_all(client) if record.offset < manifest.end_offset]

    assert manifest.end_offset >= acknowledged
    configurations = without_cluster_id(voters_properties(tmp_path / "restored", voters=1))
    restore_all(tmp_path / "backup.tar", configurations)
    with NodesInProcess(configurations) as restored:
        restored.start().wait_for_leader()
        with restored.client() as client:
            assert read_all(client) == records


def test_existing_file_is_refused(nodes: NodesInProcess, tmp_path: Path) -> None:
    (tmp_path / "backup.tar").write_text("precious")

    with nodes.client() as client, pytest.raises(ConfigError, match="exists: expected the name of a new file"):
        take_backup(client, tmp_path / "backup.tar")

    assert (tmp_path / "backup.tar").read_text() == "precious"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup with two segments."""
    folder = tmp_path_factory.mktemp("small")
    with NodesInProcess(voters_properties(folder / "source", voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for number in range(6):
                client.append(batch_of(b"%d" % number * 50))
            take_backup(client, folder / "backup.tar", segment_bytes=500)
    return folder / "backup.tar"


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup with a snapshot."""
    folder = tmp_path_factory.mktemp("compacted")
    with NodesInProcess(compacting(folder / "source", voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for round_ in range(ROUNDS):
                write(client, {}, round_)
            eventually(lambda: start_offset(nodes, 1), "a log that was cut")
            take_backup(client, folder / "backup.tar")
    return folder / "backup.tar"


def places(backup: Path) -> list[tuple[str, int, int]]:
    with tarfile.open(backup) as tar:
        return [(member.name, member.offset_data, member.size) for member in tar]


def damaged(backup: Path, target: Path, at: int, value: int | None = None) -> Path:
    content = bytearray(backup.read_bytes())
    content[at] = content[at] ^ 0x5A if value is None else value
    target.write_bytes(content)
    return target


def test_damage_of_a_batch_is_named_by_member_and_byte(small: Path, tmp_path: Path) -> None:
    name, begin, size = places(small)[1]
    path = damaged(small, tmp_path / "damaged.tar", begin + size - 1)

    with pytest.raises(StorageError) as refused:
        verify_backup(path)

    with tarfile.open(small) as tar:
        content = tar.extractfile(name).read()  # type: ignore[union-attr]
    last_batch = size - list(walk_headers(content))[-1].size_bytes
    assert str(refused.value).startswith(f"{path}: member {name} is damaged at byte {last_batch}: ")


def test_damage_of_a_snapshot_is_named_by_member_and_byte(compacted: Path, tmp_path: Path) -> None:
    name, begin, size = places(compacted)[0]
    assert name.endswith(".checkpoint")
    path = damaged(compacted, tmp_path / "damaged.tar", begin + size // 2)

    with pytest.raises(StorageError) as refused:
        verify_backup(path)

    assert str(refused.value).startswith(f"{path}: member {name} is damaged at byte ")
    byte = int(str(refused.value).split("at byte ")[1].split(":")[0])
    assert 0 < byte <= size // 2


def test_every_changed_byte_of_every_member_is_found(small: Path, tmp_path: Path) -> None:
    for name, begin, size in places(small):
        for at in range(begin, begin + size, 7):
            path = damaged(small, tmp_path / "damaged.tar", at)
            with pytest.raises(StorageError, match=name):
                verify_backup(path)


def test_backup_that_ends_early_is_refused_at_every_length(small: Path, tmp_path: Path) -> None:
    content = small.read_bytes()
    _name, begin, size = places(small)[-1]
    path = tmp_path / "short.tar"
    for length in [0, 1, 511, 512, 513, *range(600, begin + size, 97), begin + size - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(StorageError, match=str(path)):
            verify_backup(path)


def test_directory_with_files_is_refused(small: Path, tmp_path: Path) -> None:
    (properties,) = without_cluster_id(voters_properties(tmp_path, voters=1)).values()
    log_dir = Path(properties["log.dirs"])
    log_dir.mkdir()
    (log_dir / "notes.txt").write_text("precious")

    with pytest.raises(ConfigError, match=r"is not empty, it has notes\.txt: expected an empty directory$"):
        restore_backup(small, NodeConfig.from_properties(properties))

    assert (log_dir / "notes.txt").read_text() == "precious"


def test_cluster_id_of_the_backup_is_refused(small: Path, tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()

    with pytest.raises(ConfigError, match=f"^cluster.id={CLUSTER_ID}: expected another cluster id"):
        restore_backup(small, NodeConfig.from_properties(properties))
    with pytest.raises(ConfigError, match=f"^--cluster-id other: expected cluster.id={CLUSTER_ID} as configured"):
        restore_backup(small, NodeConfig.from_properties(properties), cluster_id="other")

    assert not Path(properties["log.dirs"]).exists()


def test_other_topic_is_refused(small: Path, tmp_path: Path) -> None:
    (properties,) = without_cluster_id(voters_properties(tmp_path, voters=1, raft__topic__name="other")).values()

    with pytest.raises(ConfigError, match=r"^raft\.topic\.name=other and "):
        restore_backup(small, NodeConfig.from_properties(properties))


@pytest.mark.parametrize("step", range(1, 13))
def test_interrupted_restore_is_refused_by_the_node_and_replaced_by_another_restore(
    small: Path, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    configurations = without_cluster_id(voters_properties(tmp_path, voters=1))
    config = NodeConfig.from_properties(configurations[1])
    calls = 0

    class Crash(BaseException):
        pass

    def crashing(method: str) -> None:
        real = getattr(DiskFiles, method)

        def maybe(self: DiskFiles, *arguments: str) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                raise Crash
            return real(self, *arguments)

        monkeypatch.setattr(DiskFiles, method, maybe)

    with monkeypatch.context():
        for method in ("create", "rename", "sync_directory", "remove"):
            crashing(method)
        with pytest.raises(Crash):
            restore_backup(small, config)
        monkeypatch.undo()
    if (config.log_dir / RESTORE_MARK_NAME).exists():
        with NodesInProcess(configurations) as nodes, pytest.raises(ConfigError, match="a restore was interrupted"):
            nodes.start()
    else:
        assert sorted(path.name for path in config.log_dir.iterdir()) in (
            [".lock"],
            [".lock", f"{RESTORE_MARK_NAME}.tmp"],
        ), "nothing was begun"

    restore_backup(small, config)

    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            assert [record.value for record in read_all(client)] == [b"%d" % number * 50 for number in range(6)]


def test_backup_of_a_quorum_without_leader_leaves_no_file(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path / "source")) as nodes:
        nodes.start(1)
        with nodes.client(api_timeout_ms=500) as client, pytest.raises(QuorumUnavailableError):
            take_backup(client, tmp_path / "backup.tar")

    assert list(tmp_path.glob("backup.tar*")) == []
