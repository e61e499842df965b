"""A snapshot replaces the log before it (rules LOG-14, LOG-15)."""

from __future__ import annotations

import pytest

from raft.errors import CorruptBatchError
from raft.storage.directory import ReplicaDirectory
from raft.storage.files import Files
from raft.storage.log_config import LogConfig
from raft.types import Epoch, Offset, OffsetAndEpoch
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch, batches, content, crash_at_every_call, last_epoch, snapshot_bytes
from tests.storage.test_directory import PARTITION, opened

FIRST = OffsetAndEpoch(offset=Offset(500), epoch=Epoch(3))
SECOND = OffsetAndEpoch(offset=Offset(700), epoch=Epoch(4))
FIRST_NAME = f"{PARTITION}/00000000000000000500-0000000003.checkpoint"


def with_three_records(files: Files) -> None:
    """A log of three records, all known to be on the disk."""
    directory = opened(files)
    directory.log.append([batch(offset) for offset in range(3)])
    directory.close()


def load(directory: ReplicaDirectory, snapshot: OffsetAndEpoch = FIRST) -> None:
    """Download a snapshot in two pieces, and replace the log by it."""
    content = snapshot_bytes(snapshot)
    directory.store_snapshot_piece(snapshot, 0, content[:70])
    directory.store_snapshot_piece(snapshot, 70, content[70:])
    contents = directory.check_snapshot(snapshot)
    assert contents is not None, "it is whole"
    directory.install_snapshot(contents)


def install(files: Files, snapshot: OffsetAndEpoch = FIRST) -> None:
    """Load a snapshot, and append two records after it."""
    directory = opened(files)
    load(directory, snapshot)
    directory.log.append([batch(snapshot.offset + at, epoch=snapshot.epoch) for at in range(2)])
    directory.close()


@pytest.mark.rule("LOG-14", "LOG-15", "FETCH-23")
def test_log_begins_at_the_end_of_the_snapshot_when_one_is_installed(files: Files) -> None:
    with_three_records(files)

    install(files)

    directory = opened(files)
    assert directory.log.start == FIRST
    assert (directory.log.end_offset, last_epoch(directory.log)) == (502, 3)
    assert content(directory.log) == [batch(500, epoch=3), batch(501, epoch=3)]
    assert files.read(FIRST_NAME) == snapshot_bytes(FIRST)
    assert not [name for name in files.names_in(PARTITION) if name.startswith("00000000000000000000.")]
    directory.close()


@pytest.mark.rule("GEN-13")
def test_log_has_the_epoch_of_the_snapshot_while_it_is_empty(files: Files) -> None:
    directory = opened(files)
    load(directory)
    directory.close()

    directory = opened(files)
    assert (directory.log.start, directory.log.end_offset, last_epoch(directory.log)) == (FIRST, 500, 3)
    directory.close()


def test_later_snapshot_takes_the_place_of_the_one_before(files: Files) -> None:
    install(files)

    install(files, SECOND)

    directory = opened(files)
    assert (directory.log.start, directory.log.end_offset) == (SECOND, 702)
    assert not files.exists(FIRST_NAME)
    directory.close()


def test_snapshot_that_is_downloaded_again_keeps_nothing_of_the_first_attempt(files: Files) -> None:
    directory = opened(files)
    directory.store_snapshot_piece(SECOND, 0, b"of another one")
    directory.store_snapshot_piece(FIRST, 0, b"of a first attempt")
    load(directory)
    directory.close()

    assert files.read(FIRST_NAME) == snapshot_bytes(FIRST)


@pytest.mark.rule("FETCH-23", "SNAPSHOT-4")
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(snapshot_bytes(FIRST)[:-1], id="torn"),
        pytest.param(snapshot_bytes(FIRST)[:-75], id="without its footer"),
        pytest.param(snapshot_bytes(FIRST)[:30] + b"?" + snapshot_bytes(FIRST)[31:], id="damaged"),
        pytest.param(snapshot_bytes(FIRST) + snapshot_bytes(FIRST), id="longer than its footer"),
        pytest.param(b"", id="empty"),
    ],
)
def test_snapshot_that_is_not_whole_is_refused(content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    directory = opened(MemoryFiles())
    directory.store_snapshot_piece(FIRST, 0, content)

    assert directory.check_snapshot(FIRST) is None
    assert f"{FIRST_NAME}.part is not used" in caplog.text


def test_snapshot_that_was_not_finished_is_gone_when_the_node_starts(files: Files) -> None:
    with_three_records(files)
    directory = opened(files)
    directory.store_snapshot_piece(FIRST, 0, snapshot_bytes(FIRST)[:9])
    directory.close()

    directory = opened(files)

    assert (directory.log.start_offset, directory.log.end_offset) == (0, 3)
    assert not [name for name in files.names_in(PARTITION) if ".checkpoint" in name and name.endswith(".part")]
    directory.close()


@pytest.mark.rule("LOG-16")
def test_bootstrap_snapshot_replaces_no_log(files: Files) -> None:
    with_three_records(files)
    files.create(f"{PARTITION}/{0:020d}-{0:010d}.checkpoint").close()

    directory = opened(files)

    assert (directory.log.start_offset, directory.log.end_offset) == (0, 3)
    directory.close()


@pytest.mark.rule("LOG-15")
def test_log_that_begins_where_no_snapshot_ends_is_refused(files: Files) -> None:
    install(files)
    files.remove(FIRST_NAME)

    with pytest.raises(CorruptBatchError, match=r"0500\.log is the first segment, but no snapshot ends at offset 500"):
        opened(files)


@pytest.mark.rule("LOG-13")
def test_damage_after_a_snapshot_is_found() -> None:
    files = MemoryFiles()
    install(files)
    files.flip_bit(f"{PARTITION}/{500:020d}.log", 30)

    with pytest.raises(CorruptBatchError, match="so this is not the torn end of a write"):
        opened(files)


def test_node_has_the_log_from_before_or_the_snapshot_when_the_power_fails_at_any_call() -> None:
    outcomes = set()
    for case, files in crash_at_every_call(with_three_records, install):
        directory = opened(files)
        log = directory.log
        if log.start_offset == 0:
            assert content(log) == [batch(offset) for offset in range(3)], case
        else:
            assert log.start == FIRST, case
            assert content(log) == [batch(500, epoch=3), batch(501, epoch=3)][: log.end_offset - 500], case
            assert files.read(FIRST_NAME) == snapshot_bytes(FIRST), case
        outcomes.add((log.start_offset, log.end_offset))
        directory.close()

    assert outcomes >= {(0, 3), (500, 500), (500, 502)}


OLD_EPOCH = 1


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param([1] * 3, id="ends before the snapshot"),
        pytest.param([300, 300, 300], id="continues after the snapshot"),
        pytest.param([250, 250, 250], id="has a segment where the snapshot ends"),
    ],
)
@pytest.mark.rule("LOG-15", "FETCH-23", "LOG-20")
def test_node_starts_again_when_the_power_fails_at_any_call_while_a_snapshot_replaces_the_log(
    counts: list[int],
) -> None:
    """The old log has an epoch that no other log has; a segment for each of its batches, all known to be flushed."""
    old = batches(counts, epoch=OLD_EPOCH)
    config = LogConfig(segment_bytes=1)

    def log_with_many_segments(files: MemoryFiles) -> None:
        directory = opened(files, config=config)
        directory.log.append(old)
        directory.close()

    outcomes = set()
    for case, files in crash_at_every_call(log_with_many_segments, install):
        directory = opened(files)
        log = directory.log
        if log.start == FIRST:
            assert content(log) == [batch(500, epoch=3), batch(501, epoch=3)][: log.end_offset - 500], case
            assert files.read(FIRST_NAME) == snapshot_bytes(FIRST), case
        else:
            assert (log.start_offset, content(log)) == (0, old), case
        assert not [name for name in files.names_in(PARTITION) if name.endswith(".installing")], case
        outcomes.add((log.start_offset, log.end_offset))
        directory.close()

    assert outcomes >= {(0, sum(counts)), (500, 500), (500, 502)}
