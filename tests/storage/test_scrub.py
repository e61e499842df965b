"""The scrub finds damage that a start does not see (rule LOG-26)."""

from __future__ import annotations

import pytest

from raft.records.header_fields import HEADER
from raft.storage.log import Log
from raft.storage.log_config import LogConfig
from raft.storage.scrub import Scrub, ScrubProgress
from raft.storage.snapshots import SnapshotFolder
from raft.types import Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import DIRECTORY, batch, open_log, recovery_point
from tests.storage.test_compacted_log import a_cut_store
from tests.storage.test_directory import PARTITION

SEGMENT_BYTES = 12_000
WRITTEN = [batch(at, count=2, value=b"v" * 600, timestamps_ms=[at, at + 1]) for at in range(0, 120, 2)]
END = WRITTEN[-1].header.end_offset
PIECE_BYTES = 3_000


def stopped_log(files: MemoryFiles) -> Log:
    log = open_log(files, segment_bytes=SEGMENT_BYTES)
    log.append(WRITTEN)
    log.close()
    return Log.open(files, DIRECTORY, LogConfig(segment_bytes=SEGMENT_BYTES), recovery_point(files))


def scrub_of(log: Log, files: MemoryFiles) -> Scrub:
    return Scrub(log, SnapshotFolder(files, DIRECTORY))


def pass_of(scrub: Scrub, committed: int = END, *, passes: int = 1) -> ScrubProgress:
    """Go on to the end of a pass."""
    for _ in range(1000):
        progress = scrub.check_piece(PIECE_BYTES, Offset(committed))
        if progress.passes == passes:
            return progress
    raise AssertionError("the pass does not end")


def names(files: MemoryFiles, suffix: str) -> list[str]:
    return [f"{DIRECTORY}/{name}" for name in files.names_in(DIRECTORY) if name.endswith(suffix)]


@pytest.mark.rule("LOG-26")
def test_sound_log_is_read_once_in_a_pass() -> None:
    files = MemoryFiles()
    scrub = scrub_of(stopped_log(files), files)
    sizes = [scrub.check_piece(PIECE_BYTES, END).checked_bytes for _ in range(10)]

    assert sizes == sorted(set(sizes))
    assert sizes[0] < PIECE_BYTES + WRITTEN[0].header.size_bytes
    assert pass_of(scrub).damage == ()
    assert scrub.check_piece(PIECE_BYTES, END).passes == 1
    assert pass_of(scrub, passes=2).damage == ()


@pytest.mark.rule("LOG-26")
@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
def test_one_flipped_bit_is_found_and_named_and_the_rest_is_checked_too(suffix: str) -> None:
    files = MemoryFiles()
    log = stopped_log(files)
    damaged = names(files, suffix)[1:3]
    for name in damaged:
        files.flip_bit(name, 5 if suffix != ".log" else HEADER.size + 9)

    found = pass_of(scrub_of(log, files)).damage

    assert len(found) == 2
    stems = [name.rpartition("/")[2].partition(".")[0] for name in damaged]
    assert [stem in damage for stem, damage in zip(stems, found, strict=True)] == [True, True]


@pytest.mark.rule("LOG-26")
def test_missing_batches_are_found() -> None:
    files = MemoryFiles()
    log = stopped_log(files)
    name = names(files, ".log")[1]
    first = log.header_of(log.segment_bases[1])
    files.put(name, files.read(name)[first.size_bytes :])

    first_damage, *_ = pass_of(scrub_of(log, files)).damage

    assert "expected offset" in first_damage


@pytest.mark.rule("LOG-26")
def test_damage_is_reported_until_a_later_pass_does_not_find_it() -> None:
    files = MemoryFiles()
    log = stopped_log(files)
    name = names(files, ".log")[0]
    files.flip_bit(name, 100)
    scrub = scrub_of(log, files)
    first = pass_of(scrub)
    files.flip_bit(name, 100)

    under_way = scrub.check_piece(PIECE_BYTES, END)
    second = pass_of(scrub, passes=2)

    assert len(first.damage) == 1
    assert under_way.damage == first.damage
    assert second.damage == ()


@pytest.mark.rule("LOG-26")
def test_what_is_not_committed_is_not_checked_because_it_may_be_replaced_meanwhile() -> None:
    files = MemoryFiles()
    log = stopped_log(files)
    scrub = scrub_of(log, files)
    pass_of(scrub, committed=END - 10)
    for _ in range(30):
        scrub.check_piece(PIECE_BYTES, Offset(END - 10))

    log.truncate(Offset(END - 8))
    log.append([batch(END - 8, epoch=7, count=5, value=b"w" * 900)])

    assert pass_of(scrub, committed=END - 10, passes=2).damage == ()
    assert pass_of(scrub, committed=log.end_offset, passes=3).damage == ()


@pytest.mark.rule("LOG-26")
def test_log_that_is_cut_while_it_is_checked_is_sound() -> None:
    files = MemoryFiles()
    log = stopped_log(files)
    scrub = scrub_of(log, files)
    scrub.check_piece(PIECE_BYTES, END)
    start = log.segment_bases[2]
    end = log.header_of(Offset(start - 1))

    log.delete_before(type(log.end)(epoch=end.epoch, offset=start))

    assert pass_of(scrub).damage == ()


@pytest.mark.rule("LOG-26")
def test_empty_log_is_sound() -> None:
    files = MemoryFiles()

    assert pass_of(scrub_of(open_log(files), files), committed=0).damage == ()


SNAPSHOT = f"{PARTITION}/{8:020d}-{4:010d}.checkpoint"


@pytest.mark.rule("LOG-26", "SNAPSHOT-1")
@pytest.mark.parametrize("place", [pytest.param(0.2, id="state"), pytest.param(0.6, id="records")])
def test_flipped_bit_in_a_snapshot_is_found_and_the_log_is_checked_too(place: float) -> None:
    files = MemoryFiles()
    store = a_cut_store(files)
    scrub, size = Scrub(store.log, store.directory.snapshots), len(files.read(SNAPSHOT))
    sound = [scrub.check_piece(99, store.log.end_offset).checked_bytes for _ in range(size // 99 + 2)]
    files.flip_bit(SNAPSHOT, int(place * size))

    assert pass_of(scrub, store.log.end_offset).damage == ()
    (damage,) = pass_of(scrub, store.log.end_offset, passes=2).damage

    assert sound == [*range(99, size, 99), size, size + store.log.size_bytes(Offset(8))]
    assert f"{SNAPSHOT} is damaged: " in damage
    files.flip_bit(f"{PARTITION}/{8:020d}.log", 70)
    assert len(pass_of(scrub, store.log.end_offset, passes=3).damage) == 2


@pytest.mark.rule("LOG-26")
@pytest.mark.parametrize("pieces", [0, 1])
def test_snapshot_that_another_one_replaces_is_no_damage(pieces: int) -> None:
    files = MemoryFiles()
    store = a_cut_store(files)
    scrub = Scrub(store.log, store.directory.snapshots)
    for _ in range(pieces):
        scrub.check_piece(99, store.log.end_offset)

    store.delete_before()

    assert not files.exists(SNAPSHOT)
    assert pass_of(scrub, store.log.end_offset).damage == ()
