"""What `kraft check` says of a directory, and what it repairs (rules LOG-13, LOG-19, LOG-25)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.errors import ConfigError, CorruptBatchError
from raft.records.header_fields import HEADER
from raft.storage.directory_check import DirectoryCheck
from raft.storage.files import DirectoryLockedError
from raft.storage.index import TIME_ENTRY
from raft.storage.log_check import Finding, LogFinding
from raft.storage.log_config import LogConfig
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.transactions import ProducerState
from raft.types import ElectionState, Epoch, NodeId, Offset, ReplicaKey
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch
from tests.storage.test_compacted_log import a_cut_store
from tests.storage.test_directory import PARTITION, opened
from tests.storage.transactional import abort, aborted_by, data, transactional_id

SMALL = LogConfig(segment_bytes=12_000)
WRITTEN = [batch(at, count=2, value=b"v" * 600, timestamps_ms=[at, at + 1]) for at in range(0, 120, 2)]
END = WRITTEN[-1].header.end_offset
VOTED = ElectionState(epoch=Epoch(1), voted_key=ReplicaKey(NodeId(2)))


def stopped_node(*, flushed: int = END) -> MemoryFiles:
    """Return the disk of a node that has stopped; everything below `flushed` lies below the recovery point."""
    files = MemoryFiles()
    producers = ProducerState()
    directory = opened(files, config=SMALL, producers=producers)
    directory.store_election_state(VOTED)
    directory.append(WRITTEN)
    directory.close()
    point(files).retreat(Offset(flushed))
    return files


def point(files: MemoryFiles) -> RecoveryPoint:
    return RecoveryPoint(files, f"{PARTITION}/{RECOVERY_POINT_NAME}", topic="__cluster_metadata", partition=0)


def segments(files: MemoryFiles) -> list[str]:
    return [f"{PARTITION}/{name}" for name in files.names_in(PARTITION) if name.endswith(".log")]


def base_offset(segment: str) -> int:
    return int(segment.rpartition("/")[2].removesuffix(".log"))


LAST = base_offset(segments(stopped_node())[-1])
"""Base offset of the last segment of `stopped_node`."""


def checked(files: MemoryFiles) -> list[Finding]:
    check = DirectoryCheck(files)
    try:
        return list(check.findings())
    finally:
        check.close()


def repaired(files: MemoryFiles) -> list[str]:
    check = DirectoryCheck(files)
    try:
        return list(check.repair(list(check.findings())))
    finally:
        check.close()


def bad(files: MemoryFiles) -> list[tuple[str, LogFinding]]:
    return [(each.name, each.state) for each in checked(files) if each.state is not LogFinding.SOUND]


def contents(files: MemoryFiles) -> dict[str, bytes]:
    return {name: files.read(f"{PARTITION}/{name}") for name in files.names_in(PARTITION)}


def test_every_file_of_a_sound_directory_is_named() -> None:
    files = stopped_node()

    found = checked(files)

    assert bad(files) == []
    named = {each.name for each in found}
    assert {*segments(files), "meta.properties", f"{PARTITION}/leader-epoch-checkpoint"} <= named
    (first, *_) = [each for each in found if each.name == segments(files)[0]]
    assert first.detail == f"offsets 0 to 18, {len(files.read(first.name))} bytes"


@pytest.mark.rule("LOG-13")
def test_every_damaged_segment_below_the_recovery_point_is_named_and_none_is_changed() -> None:
    files = stopped_node()
    damaged = segments(files)[1:4:2]
    for name in damaged:
        files.flip_bit(name, HEADER.size + 5)
    before = contents(files)

    found = bad(files)
    done = repaired(files)

    assert found == [(name, LogFinding.LOST) for name in damaged]
    assert (done, contents(files)) == ([], before)


@pytest.mark.rule("LOG-13")
def test_missing_segment_is_lost() -> None:
    files = stopped_node()
    gone, following = segments(files)[1:3]
    files.remove(gone)
    last_gone = stopped_node()
    last_gone.remove(segments(last_gone)[-1])

    assert bad(files) == [(following, LogFinding.LOST)]
    assert bad(last_gone) == [(PARTITION, LogFinding.LOST)]


@pytest.mark.rule("LOG-19")
def test_torn_end_is_left_to_the_next_start() -> None:
    files = stopped_node(flushed=END - 10)
    last = segments(files)[-1]
    data = files.read(last)
    files.put(last, data[:-30])

    found = bad(files)
    done = repaired(files)
    directory = opened(files, config=SMALL)

    assert found == [(last, LogFinding.TORN)]
    assert done == []
    assert directory.log.end_offset == END - 2


@pytest.mark.rule("LOG-19")
@pytest.mark.parametrize("place", [-1, -2])
def test_damage_above_the_recovery_point_with_whole_batches_behind_is_truncated_by_a_repair(place: int) -> None:
    files = stopped_node(flushed=30)
    damaged = segments(files)[place]
    files.flip_bit(damaged, HEADER.size + 5)
    base = base_offset(damaged)
    with pytest.raises(CorruptBatchError, match="the log is not truncated"):
        opened(files, config=SMALL)
    files.kill()

    found = bad(files)
    done = repaired(files)

    assert found == [(damaged, LogFinding.UNCLEAR)]
    assert done == [f"truncated memory:/{damaged} at byte 0: the log ends at offset {base} now"]
    directory = opened(files, config=SMALL)
    assert directory.log.end_offset == base
    directory.append([batch(base)])
    directory.close()
    assert bad(files) == []


@pytest.mark.rule("LOG-25")
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
@pytest.mark.parametrize("place", [0, -1])
def test_stale_index_is_named_and_made_again_after_a_repair(suffix: str, place: int) -> None:
    files = stopped_node()
    name = segments(files)[place].removesuffix(".log") + suffix
    files.put(name, b"\x00" * 34 + files.read(name)[34:] if files.exists(name) else b"\x00" * 34)

    found = bad(files)
    done = repaired(files)

    assert found == [(name, LogFinding.STALE)]
    assert done == [f"removed memory:/{name}: the next start makes it again"]
    directory = opened(files, config=SMALL)
    assert directory.log.end_offset == END
    directory.close()
    assert bad(files) == []


def node_with_an_aborted_transaction() -> MemoryFiles:
    """Return the disk of a node that has stopped."""
    files = MemoryFiles()
    directory = opened(files, config=SMALL)
    directory.store_election_state(VOTED)
    written = [transactional_id(7, 0), data(7, 1), abort(7, 2)]
    directory.append(written, aborted_by(written))
    directory.close()
    return files


@pytest.mark.rule("LOG-25")
@pytest.mark.parametrize(
    ("stopped", "name"),
    [
        pytest.param(stopped_node, f"{0:020d}.index", id="index of a full segment"),
        pytest.param(stopped_node, f"{0:020d}.timeindex", id="time index of a full segment"),
        pytest.param(stopped_node, f"{LAST:020d}.index", id="index of the last segment"),
        pytest.param(stopped_node, f"{LAST:020d}.timeindex", id="time index of the last segment"),
        pytest.param(stopped_node, "leader-epoch-checkpoint", id="epochs"),
        pytest.param(node_with_an_aborted_transaction, f"{0:020d}.txnindex", id="aborted transactions"),
    ],
)
def test_missing_file_is_no_damage_and_made_by_the_next_start(stopped: Callable[[], MemoryFiles], name: str) -> None:
    files = stopped()
    name = f"{PARTITION}/{name}"
    assert files.exists(name)
    files.remove(name)

    found = bad(files)
    opened(files, config=SMALL).close()

    assert found == [(name, LogFinding.MISSING)]
    assert bad(files) == []


@pytest.mark.rule("LOG-25")
def test_directory_is_sound_after_each_of_several_stops() -> None:
    files = stopped_node()

    for more in range(3):
        directory = opened(files, config=SMALL)
        directory.append([batch(END + more, timestamps_ms=[10_000 + more])])
        directory.close()
        assert bad(files) == []


@pytest.mark.rule("LOG-25")
@pytest.mark.parametrize("entry", [(10_000, END - 1), (9_999, END), (10_001, END), (500, END - 2)])
def test_time_that_no_batch_confirms_is_stale(entry: tuple[int, int]) -> None:
    files = stopped_node()
    directory = opened(files, config=SMALL)
    directory.append([batch(END, timestamps_ms=[10_000]), batch(END + 1, timestamps_ms=[10_002])])
    directory.close()
    name = f"{PARTITION}/{LAST:020d}.timeindex"
    content = files.read(name)
    before, last = content[: -TIME_ENTRY.size], content[-TIME_ENTRY.size :]
    sound = bad(files)

    files.put(name, before + TIME_ENTRY.pack(entry[0], entry[1] - LAST) + last)

    assert sound == []
    assert bad(files) == [(name, LogFinding.STALE)]


@pytest.mark.parametrize("content", [b"rubbish", b"0\n1\n7 0\n"], ids=["rubbish", "another epoch"])
def test_stale_epochs_are_named_and_made_again_after_a_repair(content: bytes) -> None:
    files = stopped_node()
    name = f"{PARTITION}/leader-epoch-checkpoint"
    files.put(name, content)

    found = bad(files)
    repaired(files)
    opened(files, config=SMALL).close()

    assert found == [(name, LogFinding.STALE)]
    assert bad(files) == []


@pytest.mark.rule("LOG-32")
def test_damaged_mark_of_the_last_flush_is_stale() -> None:
    files = stopped_node()
    name = f"{PARTITION}/flushed-offsets"
    files.put(name, b"rubbish")

    found = bad(files)
    repaired(files)

    assert found == [(name, LogFinding.STALE)]
    assert not files.exists(name)


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint", "quorum-state"])
def test_unreadable_file_that_follows_from_nothing_is_lost(name: str) -> None:
    files = stopped_node()
    files.put(f"{PARTITION}/{name}", b"rubbish")

    assert (f"{PARTITION}/{name}", LogFinding.LOST) in bad(files)


@pytest.mark.rule("STATE-19")
def test_missing_election_state_of_a_log_with_records_is_lost() -> None:
    files = stopped_node()
    files.remove(f"{PARTITION}/quorum-state")

    assert bad(files) == [(f"{PARTITION}/quorum-state", LogFinding.LOST)]


@pytest.mark.rule("STATE-7", "STATE-19")
def test_directory_that_was_opened_and_never_used_is_sound() -> None:
    files = MemoryFiles()
    opened(files).close()

    assert bad(files) == []


def _no_directory(files: MemoryFiles) -> None:
    files.remove("meta.properties")


def _running(files: MemoryFiles) -> None:
    opened(files, config=SMALL)


@pytest.mark.parametrize(
    ("prepare", "error", "message"),
    [
        pytest.param(_no_directory, ConfigError, "expected one with meta.properties", id="not a log directory"),
        pytest.param(_running, DirectoryLockedError, "in use", id="a node that runs"),
    ],
)
def test_other_directories_are_refused(
    prepare: Callable[[MemoryFiles], None], error: type[Exception], message: str
) -> None:
    files = stopped_node()
    prepare(files)

    with pytest.raises(error, match=message):
        DirectoryCheck(files)


@pytest.mark.rule("SNAPSHOT-4", "LOG-26")
def test_snapshot_of_a_log_is_checked_and_damage_in_it_is_lost() -> None:
    files = MemoryFiles()
    store = a_cut_store(files)
    store.directory.store_election_state(VOTED)
    store.directory.close()
    (name,) = [name for name in files.names_in(PARTITION) if name.endswith(".checkpoint")]
    sound = bad(files)

    files.flip_bit(f"{PARTITION}/{name}", len(files.read(f"{PARTITION}/{name}")) - 1)

    assert sound == []
    assert (f"{PARTITION}/{name}", LogFinding.LOST) in bad(files)


@pytest.mark.rule("LOG-13")
def test_gap_between_segments_above_the_recovery_point_is_truncated_by_a_repair() -> None:
    files = stopped_node(flushed=10)
    gone, following = segments(files)[1:3]
    files.remove(gone)

    found = bad(files)
    done = repaired(files)

    assert found == [(following, LogFinding.UNCLEAR)]
    assert len(done) == 1
    directory = opened(files, config=SMALL)
    assert directory.log.end_offset == base_offset(gone)


@pytest.mark.rule("TXN-10")
def test_index_of_aborted_transactions_is_compared_with_the_markers() -> None:
    files = node_with_an_aborted_transaction()
    sound = bad(files)
    name = f"{PARTITION}/{0:020d}.txnindex"

    files.flip_bit(name, 5)

    assert sound == []
    assert bad(files) == [(name, LogFinding.STALE)]


@pytest.mark.rule("LOG-13")
def test_whole_batch_in_a_later_segment_makes_damage_at_the_end_of_one_unclear() -> None:
    files = stopped_node(flushed=10)
    damaged = segments(files)[1]
    files.flip_bit(damaged, len(files.read(damaged)) - 1)

    (finding,) = [each for each in checked(files) if each.state is not LogFinding.SOUND]

    behind = base_offset(segments(files)[2])
    assert (finding.name, finding.state) == (damaged, LogFinding.UNCLEAR)
    assert f"a whole batch at offset {behind} follows" in finding.detail


@pytest.mark.rule("LOG-13")
def test_missing_batch_is_named_with_the_offset_that_is_expected_there() -> None:
    files = stopped_node()
    name = segments(files)[0]
    first, second = (each.header.size_bytes for each in WRITTEN[:2])
    content = files.read(name)
    files.put(name, content[:first] + content[first + second :])

    (finding,) = [each for each in checked(files) if each.name == name]

    assert finding.state is LogFinding.LOST
    assert "batch at offset 4 of epoch 1, expected offset 2 of epoch 1 or later" in finding.detail
