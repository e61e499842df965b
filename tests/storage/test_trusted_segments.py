"""A start reads only what it may not trust (rule LOG-25)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from raft.errors import CorruptBatchError
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME
from raft.storage.files import File
from raft.storage.log import Log
from raft.storage.log_config import LogConfig
from raft.storage.opened_log import Replay
from raft.storage.trusted_segments import TRUSTED_SEGMENTS_NAME
from raft.transactions import AbortedTransaction, ProducerState, ProducerStateImage
from raft.types import Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import (
    DIRECTORY,
    batch,
    batches,
    check_indexes,
    content,
    crash_at_every_call,
    open_log,
    recovery_point,
)

SEGMENT_BYTES = 12_000
LISTED = f"{DIRECTORY}/{TRUSTED_SEGMENTS_NAME}"
WRITTEN = [
    *batches([2] * 10, epoch=1, value=b"v" * 600),
    *(batch(at, count=3, epoch=4, value=b"v" * 600, timestamps_ms=[at, at + 1, at + 2]) for at in range(20, 140, 3)),
]
END = WRITTEN[-1].header.end_offset


class _CountedFile:
    """A file that counts the bytes that are read from it."""

    def __init__(self, file: File, counts: dict[str, int], name: str) -> None:
        self._file, self._counts, self._name = file, counts, name

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def read(self, position: int, size_bytes: int) -> bytes:
        data = self._file.read(position, size_bytes)
        self._counts[self._name] = self._counts.get(self._name, 0) + len(data)
        return data


class CountingFiles(MemoryFiles):
    """Files that count what is read from segments."""

    def __init__(self) -> None:
        super().__init__()
        self.read_bytes: dict[str, int] = {}

    def open(self, name: str) -> File:
        file = super().open(name)
        return _CountedFile(file, self.read_bytes, name) if name.endswith(".log") else file  # type: ignore[return-value]


def opened(files: MemoryFiles, *, resumes: bool = True) -> Log:
    """Open the log as a node with a producer snapshot at the trusted end does, or as one without any."""

    def restore(at_most: Offset) -> ProducerStateImage | None:
        return ProducerState().image(at_most) if resumes else None

    config = LogConfig(segment_bytes=SEGMENT_BYTES, tail_bytes=0)
    replay = Replay(restore=restore, on_batch=lambda _header: None)
    return Log.open(files, DIRECTORY, config, recovery_point(files), replay)


def written_log(files: MemoryFiles, *, is_closed: bool = True) -> Log:
    log = open_log(files, segment_bytes=SEGMENT_BYTES)
    for each in WRITTEN:
        log.append([each])
    log.flush()
    log.list_trusted()
    if is_closed:
        log.close()
    return log


def segments(files: MemoryFiles) -> list[str]:
    return [f"{DIRECTORY}/{name}" for name in files.names_in(DIRECTORY) if name.endswith(".log")]


def check_log(log: Log) -> None:
    """Check that all of the log is there, by its offsets and by its times."""
    assert content(log) == WRITTEN
    assert [(each.epoch, each.start_offset) for each in log.epochs] == [(1, 0), (4, 20)]
    for each in WRITTEN:
        assert log.header_of(each.header.last_offset).base_offset == each.header.base_offset


@pytest.mark.rule("LOG-25")
def test_start_after_a_clean_stop_reads_no_batch() -> None:
    files = CountingFiles()
    written_log(files)
    files.read_bytes.clear()

    log = opened(files)

    assert len(log.segment_bases) > 3
    assert files.read_bytes == {}
    check_log(log)
    more = batch(END, epoch=5)
    log.append([more])
    assert content(log) == [*WRITTEN, more]
    log.close()
    assert content(opened(files)) == [*WRITTEN, more]
    assert check_indexes(files) > 0


@pytest.mark.rule("LOG-25")
def test_start_after_a_crash_reads_the_last_segment_only() -> None:
    files = CountingFiles()
    written_log(files, is_closed=False)
    files.kill()
    files.read_bytes.clear()

    log = opened(files)

    assert list(files.read_bytes) == segments(files)[-1:]
    check_log(log)


@pytest.mark.rule("LOG-22", "LOG-25")
def test_batches_are_passed_from_the_end_of_the_producer_snapshot_on() -> None:
    files = CountingFiles()
    written_log(files)
    seen: list[int] = []

    Log.open(
        files,
        DIRECTORY,
        LogConfig(segment_bytes=SEGMENT_BYTES),
        recovery_point(files),
        Replay(
            restore=lambda at_most: ProducerState().image(Offset(at_most - 27)),
            on_batch=lambda header: seen.append(header.base_offset),
        ),
    )

    assert seen == [each.header.base_offset for each in WRITTEN if each.header.end_offset > END - 27]


@pytest.mark.rule("LOG-25")
@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_segment_with_another_size_is_read_and_those_behind_it_too(suffix: str, place: int) -> None:
    files = CountingFiles()
    written_log(files)
    all_segments = segments(files)
    changed = all_segments[place]
    name = changed.removesuffix(".log") + suffix
    if suffix == ".log":
        line = f"\n{int(Path(name).stem)} \\d+ \\d+ "
        listed = files.read(LISTED).decode()
        files.put(LISTED, re.sub(f"({line})\\d+", r"\g<1>77", listed).encode())
    else:
        files.put(name, files.read(name) + b"\x7f" * 12)
    files.read_bytes.clear()

    log = opened(files)

    assert list(files.read_bytes) == all_segments[all_segments.index(changed) :]
    check_log(log)
    assert check_indexes(files) > 0


@pytest.mark.rule("LOG-25")
@pytest.mark.parametrize("name", [TRUSTED_SEGMENTS_NAME, EPOCH_CHECKPOINT_NAME], ids=["the list", "the epochs"])
@pytest.mark.parametrize("content_of_file", [None, b"rubbish\n", b"0\n1\n1 0\n"], ids=["missing", "rubbish", "another"])
def test_whole_log_is_read_without_the_list_or_the_epochs(name: str, content_of_file: bytes | None) -> None:
    files = CountingFiles()
    written_log(files)
    files.remove(f"{DIRECTORY}/{name}")
    if content_of_file is not None:
        files.put(f"{DIRECTORY}/{name}", content_of_file)
    files.read_bytes.clear()

    log = opened(files)

    assert list(files.read_bytes) == segments(files)
    check_log(log)


@pytest.mark.rule("LOG-25")
def test_segments_above_the_recovery_point_are_read() -> None:
    files = CountingFiles()
    written_log(files)
    recovery_point(files).retreat(Offset(70))
    files.read_bytes.clear()

    log = opened(files)

    untouched = [name for name in segments(files) if name not in files.read_bytes]
    assert untouched == [name for name in segments(files)[:-1] if _end_of(files, name) <= 70]
    assert untouched
    check_log(log)


def _end_of(files: MemoryFiles, name: str) -> int:
    names = segments(files)
    following = names[names.index(name) + 1]
    return int(following.rpartition("/")[2].removesuffix(".log"))


@pytest.mark.rule("LOG-25")
def test_truncated_segments_leave_the_list_before_they_change() -> None:
    """New batches may give a segment its old size, so it must not be on the list then, whenever the power fails."""

    def prepare(files: MemoryFiles) -> None:
        written_log(files)

    def change(files: MemoryFiles) -> None:
        log = opened(files)
        log.truncate(Offset(110))
        for at in range(110, END, 3):
            log.append([batch(at, epoch=9, count=3, value=b"w" * 600, timestamps_ms=[at, at + 1, at + 2])])
        log.flush()
        log.close()

    for case, files in crash_at_every_call(prepare, change):
        log = opened(files)
        found = content(log)
        assert found == open_again_without_the_list(files), case
        epochs = {each.header.epoch for each in found if each.header.base_offset >= 110}
        assert len(epochs) <= 1, case
        log.close()


def open_again_without_the_list(files: MemoryFiles) -> list[object]:
    copy = MemoryFiles()
    copy.make_directory(DIRECTORY)
    for name in files.names_in(DIRECTORY):
        if name != TRUSTED_SEGMENTS_NAME:
            copy.put(f"{DIRECTORY}/{name}", files.read(f"{DIRECTORY}/{name}"))
    return [*content(opened(copy, resumes=False))]


@pytest.mark.rule("LOG-25")
def test_damaged_index_of_a_full_segment_is_found_when_it_is_used_and_made_again_at_the_next_start() -> None:
    files = MemoryFiles()
    written_log(files)
    log = opened(files)
    name = segments(files)[1].removesuffix(".log") + ".timeindex"
    files.flip_bit(name, 3)

    with pytest.raises(CorruptBatchError, match=r"00000000000000000\d+\.index: the checksum is wrong; start the node"):
        content(log)
    files.kill()

    again = opened(files)
    check_log(again)
    assert check_indexes(files) > 0


@pytest.mark.rule("LOG-25", "TXN-10")
def test_aborted_transactions_are_known_without_reading_their_segment() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=SEGMENT_BYTES)
    aborted = AbortedTransaction(
        producer_id=5, first_offset=Offset(0), last_offset=Offset(1), last_stable_offset=Offset(0)
    )
    log.append(WRITTEN[:1], [aborted])
    log.append(WRITTEN[1:])
    log.close()

    segment = opened(files).files_from(Offset(0))[0]

    assert segment.indexes.has_aborted
    assert segment.indexes.aborted.overlapping(Offset(0), Offset(9))[0] == [aborted]


def test_only_a_few_indexes_are_in_memory() -> None:
    files = MemoryFiles()
    written_log(files)
    log = opened(files)

    content(log)

    loaded = [file for file in log.files_from(Offset(0)) if file.indexes._tables is not None]  # type: ignore[attr-defined]
    assert len(log.segment_bases) > 6
    assert len(loaded) <= 5
