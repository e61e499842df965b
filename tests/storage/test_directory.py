import errno
from dataclasses import replace
from pathlib import Path

import pytest

from raft.errors import ConfigError, CorruptBatchError, StorageError
from raft.storage.directory import ReplicaDirectory
from raft.storage.disk import DiskFiles
from raft.storage.files import DirectoryLockedError, Files
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import ReplicaIdentity
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.storage.restore_mark import RESTORE_MARK_NAME
from raft.transactions import ProducerState
from raft.types import ElectionState, Epoch, NodeId, Offset, ReplicaKey, Uuid
from tests.memory_files.files import Call, MemoryFiles
from tests.storage.logs import batch, batches, content, crash_at_every_call

TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
PARTITION = "__cluster_metadata-0"


def identity(*, node_id: int = 1, cluster_id: str | None = "cluster", topic_id: Uuid = TOPIC_ID) -> ReplicaIdentity:
    return ReplicaIdentity(
        topic="__cluster_metadata",
        topic_id=topic_id,
        node_id=NodeId(node_id),
        cluster_id=cluster_id,
        voters=(NodeId(1), NodeId(2), NodeId(3)),
    )


def opened(
    files: Files,
    who: ReplicaIdentity | None = None,
    *,
    config: LogConfig | None = None,
    producers: ProducerState | None = None,
) -> ReplicaDirectory:
    return ReplicaDirectory.open(files, who or identity(), entropy=bytes(range(16)), config=config, producers=producers)


def recovery_point(files: Files) -> Offset:
    """What the disk says is flushed."""
    name = f"{PARTITION}/{RECOVERY_POINT_NAME}"
    return RecoveryPoint(files, name, topic="__cluster_metadata", partition=0).offset


@pytest.mark.rule("STATE-7", "STATE-17")
def test_directory_has_kafka_layout_when_new(files: Files) -> None:
    directory = opened(files)

    assert set(files.names_in("")) - {".lock"} == {"meta.properties", PARTITION}
    assert set(files.names_in(PARTITION)) == {
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "partition.metadata",
    }
    assert directory.election_state == ElectionState(epoch=Epoch(0))
    assert directory.cluster_id == "cluster"
    assert directory.directory_id == "AAECAwQFBgcICQoLDA0ODw"
    assert recovery_point(files) == 0
    directory.close()


def test_directory_remembers_everything_when_opened_again(files: Files) -> None:
    directory = opened(files)
    state = ElectionState(epoch=Epoch(3), leader_id=NodeId(2), voted_key=ReplicaKey(NodeId(2)))
    directory.store_election_state(state)
    directory.log.append([batch(0, epoch=3), batch(1, epoch=3)])
    directory.close()

    directory = opened(files)

    assert directory.election_state == state
    assert content(directory.log) == [batch(0, epoch=3), batch(1, epoch=3)]
    assert directory.directory_id == "AAECAwQFBgcICQoLDA0ODw"
    assert recovery_point(files) == 2
    directory.close()


def test_directory_keeps_the_election_state_that_was_stored_last() -> None:
    files = MemoryFiles()
    directory = opened(files)
    state = ElectionState(epoch=Epoch(3), voted_key=ReplicaKey(NodeId(2), Uuid("9cQOuJBsTJyRnYbBrvXlXg")))

    directory.store_election_state(state, kraft_version=1)

    assert directory.election_state == state
    files.crash()
    assert opened(files).election_state == state


def test_segments_are_as_large_as_configured() -> None:
    files = MemoryFiles()
    directory = ReplicaDirectory.open(files, identity(), entropy=bytes(16), config=LogConfig(segment_bytes=200))

    directory.log.append(batches([1] * 5))

    assert len([name for name in files.names_in(PARTITION) if name.endswith(".log")]) == 3


def test_recovery_point_is_written_by_write_checkpoints() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append(batches([1] * 5))

    directory.log.flush()
    directory.write_checkpoints()

    assert recovery_point(files) == 5
    assert files.read(f"{PARTITION}/recovery-point-offset-checkpoint") == b"0\n1\n__cluster_metadata 0 5\n"


@pytest.mark.rule("LOG-13")
def test_recovery_point_is_never_ahead_of_a_flush() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append(batches([1] * 5))
    directory.log.flush()
    directory.log.truncate(Offset(2))
    directory.log.append(batches([1] * 3, start=2, epoch=2))

    directory.write_checkpoints()

    assert recovery_point(files) == 2


@pytest.mark.rule("LOG-21")
def test_high_watermark_is_checkpointed_and_found_again() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append(batches([1] * 5))
    directory.log.flush()
    directory.note_committed(Offset(3))

    is_complete = directory.write_checkpoints()

    assert not is_complete
    assert files.read(f"{PARTITION}/replication-offset-checkpoint") == b"0\n1\n__cluster_metadata 0 3\n"
    files.crash()
    assert opened(files).committed_offset == 3


@pytest.mark.rule("LOG-21")
def test_high_watermark_is_checkpointed_when_the_node_stops() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append(batches([1] * 5))
    directory.log.flush()
    directory.note_committed(Offset(5))
    directory.close()

    directory = opened(files)

    assert directory.committed_offset == 5
    assert directory.write_checkpoints()


def test_checkpointed_high_watermark_goes_back_when_an_operator_truncated_the_log() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append(batches([1] * 5))
    directory.log.flush()
    directory.note_committed(Offset(5))
    directory.close()
    log = f"{PARTITION}/00000000000000000000.log"
    files.put(log, files.read(log)[: 3 * batch(0).header.size_bytes])
    files.lose(f"{PARTITION}/recovery-point-offset-checkpoint")

    assert opened(files).committed_offset == 3


def test_directory_is_refused_when_another_node_has_it_open(files: Files) -> None:
    directory = opened(files)

    with pytest.raises(DirectoryLockedError):
        opened(files)

    directory.close()
    opened(files).close()


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(identity(node_id=2), id="node"),
        pytest.param(identity(cluster_id="other"), id="cluster"),
        pytest.param(identity(topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAg")), id="topic"),
    ],
)
def test_directory_of_another_node_is_refused_and_unlocked(files: Files, who: ReplicaIdentity) -> None:
    opened(files).close()

    with pytest.raises(ConfigError, match="as configured"):
        opened(files, who)

    opened(files).close()


@pytest.mark.rule("STATE-18")
def test_directory_is_refused_when_it_holds_the_log_of_another_topic(files: Files) -> None:
    directory = opened(files)
    directory.log.append([batch(0)])
    directory.close()
    names = files.names_in("")

    with pytest.raises(
        ConfigError,
        match=r"has the log __cluster_metadata-0, expected other-0 as configured: set raft.topic.name=__c",
    ):
        opened(files, replace(identity(), topic="other"))

    assert files.names_in("") == names
    directory = opened(files)
    assert directory.log.end_offset == 1
    directory.close()


def test_directory_that_holds_both_logs_already_is_opened_as_configured(files: Files) -> None:
    opened(files).close()
    files.make_directory("other-0")
    files.create("other-0/quorum-state").close()

    opened(files).close()


def test_folders_that_are_no_logs_are_passed_over() -> None:
    files = MemoryFiles()
    for name in ("notes-2024", "lost+found", "other-0"):
        files.make_directory(name)
    files.make_directory("notes")
    files.put("notes/quorum-state", b"")

    opened(files).close()


@pytest.mark.rule("STATE-8")
def test_directory_is_refused_when_its_election_state_is_unreadable() -> None:
    files = MemoryFiles()
    opened(files).close()
    files.put(f"{PARTITION}/quorum-state", b"")

    with pytest.raises(StorageError, match="quorum-state"):
        opened(files)


@pytest.mark.rule("LOG-13")
def test_directory_is_refused_when_flushed_records_are_damaged() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append([batch(0)])
    directory.close()
    files.flip_bit(f"{PARTITION}/00000000000000000000.log", 30)

    with pytest.raises(CorruptBatchError):
        opened(files)

    files.flip_bit(f"{PARTITION}/00000000000000000000.log", 30)
    opened(files).close()


@pytest.mark.rule("STATE-4")
def test_leftovers_of_a_crash_are_removed() -> None:
    files = MemoryFiles()
    opened(files).close()
    for name in ("meta.properties.tmp", f"{PARTITION}/quorum-state.tmp", f"{PARTITION}/leader-epoch-checkpoint.tmp"):
        files.put(name, b"half")

    opened(files)

    assert not [name for name in (*files.names_in(""), *files.names_in(PARTITION)) if name.endswith(".tmp")]


def test_lock_is_given_back_when_the_disk_fails_at_the_end() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append([batch(0)])
    files.fail(Call.FLUSH, reason=errno.EIO)

    with pytest.raises(StorageError, match="cannot flush"):
        directory.close()

    opened(files).close()


def test_first_start_can_be_repeated_when_the_power_failed_at_any_call() -> None:
    for case, files in crash_at_every_call(lambda files: None, opened):
        directory = opened(files)
        assert directory.election_state == ElectionState(epoch=Epoch(0)), case
        assert directory.log.end_offset == 0, case


@pytest.mark.rule("STATE-4", "STATE-5")
def test_stored_epoch_and_log_survive_when_the_power_fails_at_any_call() -> None:
    state = ElectionState(epoch=Epoch(1), leader_id=NodeId(1), voted_key=ReplicaKey(NodeId(1)))

    def lead(files: MemoryFiles) -> None:
        directory = opened(files)
        directory.store_election_state(state)
        directory.log.append(batches([1, 2]))
        directory.log.flush()
        directory.close()

    for case, files in crash_at_every_call(lambda files: None, lead):
        directory = opened(files)
        found = content(directory.log)
        assert found == batches([1, 2])[: len(found)], case
        assert directory.election_state == state or not found, case


def test_directory_lives_on_a_real_disk_where_it_is_missing(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path / "not" / "there")

    directory = opened(files)
    directory.log.append([batch(0)])
    directory.close()

    assert (tmp_path / "not" / "there" / PARTITION / "00000000000000000000.log").stat().st_size > 0


def test_directory_in_which_a_restore_was_interrupted_is_refused_and_unlocked() -> None:
    files = MemoryFiles()
    files.put(RESTORE_MARK_NAME, b"")

    with pytest.raises(
        ConfigError, match=r"restore-unfinished exists: a restore was interrupted.* run 'kraft restore'"
    ):
        opened(files)

    files.remove(RESTORE_MARK_NAME)
    opened(files).close()
