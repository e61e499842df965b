"""A segment by itself: places of batches, their headers, and files that became shorter while they were read."""

from __future__ import annotations

import pytest

from raft.errors import CorruptBatchError
from raft.records.header import read_header
from raft.storage.files import Files
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.segment import Segment
from raft.types import Batch, Epoch, Offset, OffsetAndEpoch
from tests.memory_files.files import Call, MemoryFiles
from tests.storage.logs import DIRECTORY, FIRST_SEGMENT, batch, empty_snapshot, open_log

SIZES = (10, 3000, 20, 9000, 5000, 30, 30, 8000, 100, 40)
"""Of the values: some batches are larger than what is read at once, and some are behind each other in it."""

BATCHES = [batch(at, value=b"v" * size) for at, size in enumerate(SIZES)]


def segment_of(files: Files, batches: list[Batch]) -> Segment:
    files.make_directory(DIRECTORY)
    segment = Segment(files, DIRECTORY, Offset(0), LoadedIndexes(), create=True)
    segment.append(b"".join(each.payload for each in batches), [each.header for each in batches])
    return segment


def positions(batches: list[Batch]) -> list[int]:
    return [sum(each.header.size_bytes for each in batches[:count]) for count in range(len(batches) + 1)]


def test_batch_is_located_by_any_of_its_offsets(files: Files) -> None:
    batches = [batch(0, count=3), batch(3, count=2, value=b"v" * 9000), batch(5)]
    segment = segment_of(files, batches)
    first, second, third, end = positions(batches)

    found = [segment.locate(Offset(at)) for at in range(8)]

    assert found == [first, first, first, second, second, third, end, end]


def test_offset_behind_the_last_batch_is_located_at_the_end(files: Files) -> None:
    segment = segment_of(files, BATCHES)

    assert segment.locate(Offset(len(BATCHES))) == segment.size_bytes
    assert list(segment.stored_headers(Offset(len(BATCHES)))) == []


@pytest.mark.parametrize("is_sealed", [False, True], ids=["open", "sealed"])
@pytest.mark.parametrize("first", range(len(BATCHES)))
def test_headers_from_any_batch_on_are_read_without_the_rest_of_the_batches(first: int, is_sealed: bool) -> None:
    segment = segment_of(MemoryFiles(), BATCHES)
    if is_sealed:
        segment.seal()

    found = list(segment.stored_headers(Offset(first)))

    expected = [read_header(each.payload) for each in BATCHES[first:]]
    assert [(header.base_offset, header.end_offset, header.size_bytes) for header in found] == [
        (header.base_offset, header.end_offset, header.size_bytes) for header in expected
    ]


@pytest.mark.parametrize("size_bytes", [0, 1, 60])
def test_headers_name_file_and_byte_when_the_file_became_shorter(size_bytes: int) -> None:
    files = MemoryFiles()
    segment = segment_of(files, BATCHES)
    segment.seal()
    fourth = positions(BATCHES)[3]
    files.open(FIRST_SEGMENT).truncate(fourth + size_bytes)

    found = segment.stored_headers(Offset(2))

    assert next(found).base_offset == 2
    with pytest.raises(CorruptBatchError, match=rf"is damaged at byte {fourth}: batch header of {size_bytes} bytes"):
        next(found)


def test_sealed_segment_is_sealed_once_and_opened_again_to_append(files: Files) -> None:
    segment = segment_of(files, BATCHES[:2])

    segment.seal()
    segment.seal()
    size_bytes = segment.size_bytes
    segment.unseal()
    segment.unseal()
    segment.append(BATCHES[2].payload, [BATCHES[2].header])
    segment.close()

    assert size_bytes == positions(BATCHES)[2]
    assert files.read(FIRST_SEGMENT) == b"".join(each.payload for each in BATCHES[:3])


def test_segment_is_flushed_before_it_is_closed_and_not_again() -> None:
    files = MemoryFiles()
    segment = segment_of(files, BATCHES[:2])

    segment.seal()
    segment.flush()
    segment.seal()

    assert files.calls[Call.FLUSH] == 1


def test_span_ends_where_the_file_ends_when_it_became_shorter() -> None:
    files = MemoryFiles()
    segment = segment_of(files, BATCHES)
    segment.seal()
    known = segment.indexes.position_up_to(segment.size_bytes)
    files.open(FIRST_SEGMENT).truncate(known)

    span = segment.span(Offset(0), max_bytes=1 << 20, end_offset=Offset(len(BATCHES)))

    # The last batch with an index entry began there; nothing behind it can be read.
    assert 0 < known < positions(BATCHES)[-1]
    assert span == range(known)
    assert segment.read_at(0, 1 << 20) == b"".join(each.payload for each in BATCHES)[:known]


@pytest.mark.rule("LOG-29")
def test_segment_whose_damage_hides_where_to_cut_it_is_not_truncated() -> None:
    files = MemoryFiles()
    segment = segment_of(files, BATCHES[:4])
    # The offset of a batch is not covered by its checksum.
    segment.overwrite(positions(BATCHES)[1], (7).to_bytes(8, "big"))
    before = files.read(FIRST_SEGMENT)

    with pytest.raises(CorruptBatchError, match="no batch ends at offset 2, where the log has to be truncated"):
        segment.truncate(Offset(2))

    assert files.read(FIRST_SEGMENT) == before


# Pieces of a read


def test_pieces_of_what_is_in_memory_are_one_piece() -> None:
    log = open_log(MemoryFiles())
    log.append(BATCHES)

    pieces = list(log.pieces(Offset(1), max_bytes=1 << 20, end_offset=log.end_offset, piece_bytes=100))

    assert pieces == [b"".join(each.payload for each in BATCHES[1:])]


@pytest.mark.parametrize("piece_bytes", [1, 100, 4096, 1 << 20])
def test_pieces_of_a_file_are_together_what_a_read_returns(piece_bytes: int) -> None:
    log = open_log(MemoryFiles(), tail_bytes=0)
    log.append(BATCHES)

    pieces = list(log.pieces(Offset(1), max_bytes=8000, end_offset=log.end_offset, piece_bytes=piece_bytes))

    assert b"".join(pieces) == log.read(Offset(1), max_bytes=8000, end_offset=log.end_offset)
    assert [len(piece) for piece in pieces[:-1]] == [piece_bytes] * (len(pieces) - 1)


def test_pieces_end_when_a_snapshot_replaces_the_start_of_the_log() -> None:
    log = open_log(MemoryFiles(), tail_bytes=0)
    log.append(BATCHES)
    pieces = log.pieces(Offset(0), max_bytes=1 << 20, end_offset=log.end_offset, piece_bytes=100)
    first = next(pieces)

    log.restart_at(empty_snapshot(OffsetAndEpoch(offset=Offset(500), epoch=Epoch(3))))

    assert len(first) == 100
    assert list(pieces) == []
    assert list(log.pieces(Offset(0), max_bytes=100, end_offset=Offset(600), piece_bytes=100)) == []
