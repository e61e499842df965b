"""Damage of a log is found where it is, is never read as records, and is repaired in place (rules LOG-29 to LOG-31)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from raft.errors import CorruptBatchError
from raft.records.header_fields import HEADER
from raft.storage.damage import DamagedPart, KnownDamage
from raft.storage.damage_search import check_segments, note_damage
from raft.storage.log import Log
from raft.storage.repair import repair_batches
from raft.storage.scrub import Scrub
from raft.storage.segment import Segment
from raft.storage.snapshots import SnapshotFolder
from raft.storage.survey import Survey
from raft.types import Batch, Damaged, NodeId, Offset
from tests.memory_files.files import Call, MemoryFiles, PowerCutError
from tests.storage.logs import DIRECTORY, FIRST_SEGMENT, batch, open_log
from tests.storage.test_compacted_log import a_cut_store

LEADER = NodeId(2)
BATCHES = [batch(at, epoch=1 + at // 6, count=2, value=b"v" * 60) for at in range(0, 12, 2)]
"""Of two epochs: the second one begins with the fourth batch."""

SIZE_BYTES = BATCHES[0].header.size_bytes
DAMAGED = 2
"""The batch that the tests damage."""

INDEX = FIRST_SEGMENT.replace(".log", ".index")

START = Offset(2 * DAMAGED)
POSITION = sum(each.header.size_bytes for each in BATCHES[:DAMAGED])
END_POSITION = POSITION + BATCHES[DAMAGED].header.size_bytes


def filled(files: MemoryFiles, batches: Sequence[Batch] = BATCHES, *, segment_bytes: int = 1 << 20) -> Log:
    """A log without records in memory."""
    log = open_log(files, segment_bytes=segment_bytes, tail_bytes=0)
    log.append(batches)
    log.flush()
    return log


def scrubbed(log: Log, files: MemoryFiles) -> KnownDamage:
    known = KnownDamage()
    scrub = Scrub(log, SnapshotFolder(files, DIRECTORY), known)
    while not scrub.check_piece(1000, log.end_offset).passes:
        pass
    return known


def read(log: Log, start: int, *, max_bytes: int = 1) -> bytes:
    return log.read(Offset(start), max_bytes=max_bytes, end_offset=log.end_offset)


@pytest.mark.parametrize("bit", [0, 7])
@pytest.mark.parametrize("at", range(SIZE_BYTES))
@pytest.mark.rule("LOG-29", "LOG-30", "LOG-26")
def test_flipped_bit_anywhere_in_a_batch_is_found_with_its_place_and_never_read(at: int, bit: int) -> None:
    files = MemoryFiles()
    log = filled(files)
    files.flip_bit(FIRST_SEGMENT, POSITION + at, bit)

    (part,) = scrubbed(log, files).parts

    assert (part.start_offset, part.position, part.kind) == (START, POSITION, Damaged.BATCHES)
    # A wrong length hides where the batch ends, and this log is too short to have an index.
    is_length = 8 <= at < 12
    assert (part.end_offset, part.end_position) == (
        (log.end_offset, log.size_bytes()) if is_length else (START + 2, END_POSITION)
    )
    for offset in (START, START + 1):
        with pytest.raises(CorruptBatchError, match="is damaged at byte"):
            read(log, offset)
    assert read(log, START - 2) == BATCHES[DAMAGED - 1].payload


@pytest.mark.parametrize("at", range(SIZE_BYTES))
@pytest.mark.rule("LOG-29")
def test_read_notes_the_same_damage_as_the_scrub(at: int) -> None:
    files = MemoryFiles()
    log, known = filled(files), KnownDamage()
    files.flip_bit(FIRST_SEGMENT, POSITION + at)

    with pytest.raises(CorruptBatchError) as caught:
        read(log, START, max_bytes=1 << 20)
    note_damage(log, known, caught.value)

    assert [part.range for part in known.parts] == [part.range for part in scrubbed(log, files).parts]


@pytest.mark.rule("LOG-29")
def test_damage_behind_indexed_batches_is_searched_from_the_last_of_them() -> None:
    """The batches before it are not read again, so that a second damage there is not found by it."""
    files = MemoryFiles()
    log, known = filled(files, [batch(at, value=b"v" * 1500) for at in range(40)]), KnownDamage()
    size_bytes = log.header_of(Offset(1)).size_bytes
    files.flip_bit(FIRST_SEGMENT, HEADER.size + 5)
    files.flip_bit(FIRST_SEGMENT, 30 * size_bytes + HEADER.size + 5)

    with pytest.raises(CorruptBatchError) as caught:
        read(log, 30)
    note_damage(log, known, caught.value)

    (part,) = known.parts
    assert (part.start_offset, part.end_offset) == (30, 31)


@pytest.mark.rule("LOG-29")
def test_damage_with_a_wrong_length_ends_at_the_next_indexed_batch_that_is_sound() -> None:
    files = MemoryFiles()
    log = filled(files, [batch(at, value=b"v" * 1500) for at in range(40)])
    size_bytes = log.header_of(Offset(1)).size_bytes
    indexed = [position // size_bytes for _, position in log.segments_from(Offset(0))[0].indexes.entries_behind(0)]
    files.flip_bit(FIRST_SEGMENT, 11)
    files.flip_bit(FIRST_SEGMENT, indexed[0] * size_bytes + HEADER.size + 5)

    (part,) = scrubbed(log, files).parts

    assert (part.start_offset, part.end_offset) == (0, indexed[1])
    assert part.end_position == indexed[1] * size_bytes


@pytest.mark.rule("LOG-29", "SNAPSHOT-1")
def test_check_of_segments_finds_damage_and_leaves_out_segments_that_are_gone() -> None:
    files = MemoryFiles()
    log = filled(files)
    check = check_segments(log, [Offset(0), Offset(99)])
    assert list(check) != []
    files.flip_bit(FIRST_SEGMENT, POSITION)

    with pytest.raises(CorruptBatchError) as caught:
        list(check_segments(log, [Offset(0)]))

    assert caught.value.position == POSITION


@pytest.mark.rule("LOG-29", "READ-7")
def test_damage_that_a_read_finds_in_a_snapshot_is_noted_for_its_whole_range() -> None:
    files = MemoryFiles()
    directory = a_cut_store(files).directory
    log = directory.log
    compacted = log.compacted
    assert compacted is not None
    files.flip_bit(compacted.path.removeprefix("memory:/"), compacted.size_bytes - 150)

    with pytest.raises(CorruptBatchError) as caught:
        list(log.pieces(Offset(0), max_bytes=1 << 20, end_offset=log.end_offset, piece_bytes=1 << 20))
    directory.note_damage(caught.value)

    (part,) = directory.damage.report.parts
    assert (part.kind, part.path, part.end_offset) == (Damaged.SNAPSHOT, compacted.path, 8)


@pytest.mark.rule("LOG-29")
def test_damage_that_a_read_finds_in_an_index_is_noted_for_its_segment() -> None:
    files = MemoryFiles()
    filled_log = filled(files, [batch(at, value=b"v" * 1500) for at in range(40)], segment_bytes=12_000)
    filled_log.close()
    log, known = open_log(files, segment_bytes=12_000, tail_bytes=0), KnownDamage()
    files.put(INDEX, b"123")

    with pytest.raises(CorruptBatchError) as caught:
        read(log, 6)
    note_damage(log, known, caught.value)

    (part,) = known.parts
    assert (part.kind, part.start_offset) == (Damaged.INDEX, 0)


def repaired(log: Log, known: KnownDamage, batches: Sequence[Batch] = BATCHES[DAMAGED : DAMAGED + 1]) -> bool:
    return repair_batches(log, known, batches, LEADER)


@pytest.mark.parametrize("at", range(SIZE_BYTES))
@pytest.mark.rule("LOG-31")
def test_repair_restores_the_bytes_and_says_so(at: int, caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles()
    log = filled(files)
    sound = files.read(FIRST_SEGMENT)
    files.flip_bit(FIRST_SEGMENT, POSITION + at)
    known = scrubbed(log, files)
    rest = BATCHES[DAMAGED:] if 8 <= at < 12 else BATCHES[DAMAGED : DAMAGED + 1]

    assert repaired(log, known, rest)

    assert files.read(FIRST_SEGMENT) == sound
    report = known.report
    size_bytes = sum(each.header.size_bytes for each in rest)
    assert (report.parts, report.repaired_ranges, report.repaired_bytes) == ((), 1, size_bytes)
    assert read(log, START) == BATCHES[DAMAGED].payload
    end = rest[-1].header.end_offset
    assert f"repaired {size_bytes} bytes at offsets {START} to {end} of segment memory:/{FIRST_SEGMENT}" in caplog.text
    assert "from node 2" in caplog.text


@pytest.mark.rule("LOG-31")
def test_repair_may_come_in_parts_when_the_length_is_unknown() -> None:
    files = MemoryFiles()
    log = filled(files)
    sound = files.read(FIRST_SEGMENT)
    files.flip_bit(FIRST_SEGMENT, POSITION + 11)
    known = scrubbed(log, files)

    assert repaired(log, known, BATCHES[DAMAGED : DAMAGED + 2])
    (left,) = known.parts
    assert (left.start_offset, known.report.repaired_ranges) == (START + 4, 0)
    assert repaired(log, known, BATCHES[DAMAGED + 2 :])

    assert (known.parts, known.report.repaired_ranges) == ((), 1)
    assert files.read(FIRST_SEGMENT) == sound


SHORTER = batch(START, epoch=1, count=2, value=b"v" * 59)
LONGER = batch(START, epoch=1, count=2, value=b"v" * 61)
ONE = batch(START, epoch=1, count=1, value=b"v" * 60)


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([SHORTER], id="too few bytes"),
        pytest.param([LONGER], id="too many bytes"),
        pytest.param(BATCHES[DAMAGED : DAMAGED + 2], id="more than the range"),
        pytest.param([batch(START, count=1, value=b"v" * 300)], id="the right size with fewer records, or more bytes"),
        pytest.param(BATCHES[:1], id="another range"),
    ],
)
@pytest.mark.rule("LOG-31")
def test_batches_that_do_not_fit_the_place_are_not_written(batches: list[Batch]) -> None:
    files = MemoryFiles()
    log = filled(files)
    files.flip_bit(FIRST_SEGMENT, POSITION + 70)
    damaged, known = files.read(FIRST_SEGMENT), scrubbed(log, files)
    before = known.parts

    assert not repaired(log, known, batches)

    assert files.read(FIRST_SEGMENT) == damaged
    assert known.parts == before


@pytest.mark.rule("LOG-31")
def test_repair_of_a_range_that_was_truncated_writes_nothing() -> None:
    files = MemoryFiles()
    log = filled(files)
    files.flip_bit(FIRST_SEGMENT, POSITION + 70)
    known = scrubbed(log, files)
    known.truncate(START)

    assert not repaired(log, known)


@pytest.mark.parametrize("call", range(1, 3))
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.rule("LOG-31")
def test_power_cut_during_a_repair_leaves_the_range_damaged_or_whole_and_nothing_else_changed(
    call: int, seed: int
) -> None:
    files = MemoryFiles()
    log = filled(files)
    log.close()
    sound = files.read(FIRST_SEGMENT)
    log = open_log(files, tail_bytes=0)
    files.flip_bit(FIRST_SEGMENT, POSITION + 30)
    known = scrubbed(log, files)
    files.cut_power_before(call)

    with pytest.raises(PowerCutError):
        repaired(log, known)
    files.crash(random.Random(seed).randrange)

    found = files.read(FIRST_SEGMENT)
    assert (found[:POSITION], found[END_POSITION:]) == (sound[:POSITION], sound[END_POSITION:])
    assert len(found) == len(sound)
    wrong = [at for at, (is_, was) in enumerate(zip(found, sound, strict=True)) if is_ != was]
    assert wrong in ([], [POSITION + 30])


@pytest.mark.rule("LOG-31")
def test_range_stays_damaged_when_the_disk_has_other_bytes_after_the_repair(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As of a disk whose sector takes no write and reports none."""
    files = MemoryFiles()
    log = filled(files)
    files.flip_bit(FIRST_SEGMENT, POSITION + 70)
    known = scrubbed(log, files)
    before = known.parts
    monkeypatch.setattr(Segment, "overwrite", lambda *_arguments: None)

    assert not repaired(log, known)

    assert known.parts == before
    assert "not repaired: the disk has other bytes than were written" in caplog.text


@pytest.mark.rule("LOG-31")
def test_range_stays_damaged_when_what_was_written_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    log = filled(files)
    files.flip_bit(FIRST_SEGMENT, POSITION + 70)
    known = scrubbed(log, files)
    before = known.parts

    def fails(_survey: Survey, _size_bytes: int, _end: Offset) -> list[DamagedPart]:
        raise CorruptBatchError("the index is damaged")

    monkeypatch.setattr(Survey, "advance", fails)

    assert not repaired(log, known)
    assert known.parts == before


@pytest.mark.rule("LOG-31", "LOG-17")
def test_write_error_during_a_repair_is_final() -> None:
    files = MemoryFiles()
    log = filled(files)
    files.flip_bit(FIRST_SEGMENT, POSITION + 70)
    known = scrubbed(log, files)
    files.fail(Call.FLUSH)

    with pytest.raises(Exception, match="cannot flush"):
        repaired(log, known)
    with pytest.raises(Exception, match="takes no writes after an error"):
        log.append([batch(12, epoch=2)])


def part(start: int, end: int, *, path: str = "log", kind: Damaged = Damaged.BATCHES) -> DamagedPart:
    return DamagedPart(
        path=path,
        kind=kind,
        start_offset=Offset(start),
        end_offset=Offset(end),
        position=start * 10,
        end_position=end * 10,
        reason="reason",
    )


@pytest.mark.rule("LOG-29")
def test_known_damage_follows_the_log() -> None:
    known = KnownDamage()
    for each in (part(8, 9), part(2, 4), part(2, 4), part(3, 6), part(0, 5, path="a snapshot", kind=Damaged.SNAPSHOT)):
        known.add(each)

    assert [(each.start_offset, each.end_offset) for each in known.parts] == [(0, 5), (3, 6), (8, 9)]
    assert known.first_behind(Offset(5), "log") == part(3, 6)
    known.truncate(Offset(8))
    assert [each.start_offset for each in known.parts] == [0, 3]
    known.delete_before(Offset(5))
    assert [each.start_offset for each in known.parts] == [0, 3], "its range reaches behind the start"
    known.delete_before(Offset(6))
    assert known.parts == ()
    known.add(part(8, 9))
    known.clear()
    assert known.parts == ()
