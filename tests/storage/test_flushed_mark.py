"""The mark of the last flush: exact when the process died, a lower bound after a power failure."""

from __future__ import annotations

import pytest

from raft.errors import CorruptBatchError, StorageError
from raft.storage.directory import ReplicaDirectory
from raft.storage.flushed_mark import FLUSHED_MARK_NAME, FlushedMark, FlushedOffsets
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.types import Offset
from tests.memory_files.files import Call, MemoryFiles
from tests.storage.logs import batches, content, crash_at_every_call
from tests.storage.test_directory import PARTITION, opened

CHECKPOINT = f"{PARTITION}/{RECOVERY_POINT_NAME}"
MARK = f"{PARTITION}/{FLUSHED_MARK_NAME}"
SEGMENT = f"{PARTITION}/{0:020d}.log"
LINE = b"00000000000000000002 00000000000000000005 00000000000000000004 472f2d91\n"


def recovery_point(files: MemoryFiles) -> RecoveryPoint:
    return RecoveryPoint(files, CHECKPOINT, topic="__cluster_metadata", partition=0)


def append(directory: ReplicaDirectory, count: int, *, committed: int = 0) -> None:
    """Append batches of one record each, and flush them."""
    directory.log.append(batches([1] * count, start=directory.log.end_offset))
    directory.note_committed(Offset(committed))
    directory.flush()


def used_by_another_version() -> MemoryFiles:
    """Return a disk with a mark at 8 and a checkpoint at 5, after a version has truncated to 4 that knows no mark."""
    files = MemoryFiles()
    directory = opened(files)
    append(directory, 5)
    directory.write_checkpoints()
    append(directory, 3)
    files.kill()
    put_checkpoint(files, 4)
    return files


def put_checkpoint(files: MemoryFiles, offset: int) -> None:
    files.put(CHECKPOINT, b"0\n1\n__cluster_metadata 0 %d\n" % offset)


def damage_last_batch(files: MemoryFiles) -> None:
    files.flip_bit(SEGMENT, len(files.read(SEGMENT)) - 1)


def test_line_is_as_documented() -> None:
    offsets = FlushedOffsets(recovery_point=Offset(2), end=Offset(5), committed=Offset(4))

    assert offsets.encode() == LINE
    assert FlushedOffsets.decode(LINE) == offsets


@pytest.mark.parametrize("damaged", [b"", LINE[:-1], LINE[:-2] + b"0\n", b"9" + LINE[1:], LINE + b"\n", b"\xff" * 72])
def test_line_does_not_count_when_it_is_damaged(damaged: bytes) -> None:
    assert FlushedOffsets.decode(damaged) is None


@pytest.mark.rule("LOG-32")
def test_flushed_end_and_high_watermark_of_the_last_flush_are_known_when_the_process_is_killed() -> None:
    files = MemoryFiles()
    directory = opened(files)
    append(directory, 5)
    directory.write_checkpoints()
    append(directory, 3, committed=7)
    directory.note_committed(Offset(8))

    files.kill()

    assert recovery_point(files).offset == 8
    assert opened(files).committed_offset == 7, "what was committed after the flush is not in it"


@pytest.mark.rule("LOG-13", "LOG-32")
def test_start_is_refused_when_the_last_batch_was_flushed_and_is_damaged() -> None:
    files = MemoryFiles()
    append(opened(files), 5)
    damage_last_batch(files)
    whole = files.read(SEGMENT)

    files.kill()

    with pytest.raises(CorruptBatchError, match="ends at offset 4, but everything below 5 was flushed"):
        opened(files)
    assert files.read(SEGMENT) == whole


@pytest.mark.rule("LOG-32")
def test_last_batch_is_truncated_when_it_was_not_flushed_and_is_damaged() -> None:
    files = MemoryFiles()
    directory = opened(files)
    append(directory, 5)
    directory.log.append(batches([1], start=5))
    damage_last_batch(files)

    files.kill()

    assert opened(files).log.end_offset == 5


@pytest.mark.rule("LOG-32")
def test_start_after_a_power_failure_never_misses_what_the_mark_says() -> None:
    """Also when the mark is on the disk and nothing else that was not flushed."""

    def prepare(files: MemoryFiles) -> None:
        append(opened(files), 5)
        files.crash(lambda choices: choices - 1)  # All of it is on the disk, the mark too.

    def act(files: MemoryFiles) -> None:
        directory = opened(files)
        append(directory, 2, committed=4)
        directory.truncate(Offset(4))
        append(directory, 5, committed=6)
        directory.write_checkpoints()
        directory.truncate(Offset(6))
        append(directory, 1, committed=6)
        directory.close()

    for case, files in crash_at_every_call(prepare, act):
        log = opened(files).log
        assert recovery_point(files).offset <= log.end_offset, case
        assert content(log)[:4] == batches([1] * 4), case


@pytest.mark.rule("LOG-32")
def test_log_can_be_opened_after_a_truncation_when_the_process_is_killed() -> None:
    files = MemoryFiles()
    directory = opened(files)
    append(directory, 5)
    directory.truncate(Offset(2))

    files.kill()

    assert recovery_point(files).offset == 2
    assert opened(files).log.end_offset == 2


@pytest.mark.rule("LOG-32")
def test_mark_does_not_count_when_another_version_has_written_the_checkpoint() -> None:
    files = used_by_another_version()

    recovery = recovery_point(files)
    assert (recovery.offset, recovery.committed) == (4, 0)
    # The mark must not count again when the checkpoint has the offset of before.
    recovery.advance(Offset(5))
    assert recovery_point(files).offset == 5


@pytest.mark.rule("LOG-32")
def test_mark_that_does_not_count_is_lowered_before_a_truncation() -> None:
    files = used_by_another_version()

    recovery_point(files).retreat(Offset(3))
    put_checkpoint(files, 5)

    assert recovery_point(files).offset == 5


@pytest.mark.rule("LOG-32")
def test_damaged_mark_is_written_again() -> None:
    files = MemoryFiles()
    directory = opened(files)
    append(directory, 5)
    files.kill()
    files.put(MARK, b"\x00" * 20)

    assert recovery_point(files).offset == 0
    append(opened(files), 1)

    assert recovery_point(files).offset == 6


@pytest.mark.rule("LOG-27", "LOG-32")
def test_flush_succeeds_when_the_mark_has_no_room() -> None:
    files = MemoryFiles()
    directory = opened(files)
    directory.log.append(batches([1] * 5))
    files.take_all_room()

    assert directory.flush() == 5
    assert recovery_point(files).offset == 0

    files.fill(None)
    append(directory, 1)
    assert recovery_point(files).offset == 6


def test_flush_fails_when_the_mark_cannot_be_written() -> None:
    files = MemoryFiles()
    directory = opened(files)
    append(directory, 5)
    files.fail(Call.WRITE)

    with pytest.raises(StorageError, match=FLUSHED_MARK_NAME):
        directory.flush()


def test_mark_of_a_closed_directory_is_closed() -> None:
    mark = FlushedMark(MemoryFiles(), FLUSHED_MARK_NAME)
    mark.write(FlushedOffsets(Offset(0), Offset(1), Offset(0)))

    mark.close()
    mark.close()
