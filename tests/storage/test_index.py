import pytest

from raft.storage.index import OffsetIndex, TimeIndex
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.segment_indexes import INDEX_INTERVAL_BYTES, SegmentIndexes
from raft.types import Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch


def offset_index() -> OffsetIndex:
    """Batches that end at 104, 109 and 120 begin at 0, 5000 and 12000."""
    index = OffsetIndex(Offset(100))
    for last_offset, position in ((104, 0), (109, 5000), (120, 12000)):
        index.append(Offset(last_offset), position)
    return index


def time_index() -> TimeIndex:
    """Up to 104 no timestamp is above 1000, up to 109 none above 2000, up to 120 none above 3000."""
    index = TimeIndex(Offset(100))
    for timestamp_ms, last_offset in ((1000, 104), (2000, 109), (3000, 120)):
        index.append(timestamp_ms, Offset(last_offset))
    return index


def test_offset_index_has_kafka_bytes() -> None:
    index = OffsetIndex(Offset(100))

    assert index.append(Offset(104), 5000) == bytes.fromhex("00000004 00001388")
    assert offset_index().to_bytes() == bytes.fromhex("00000004 00000000 00000009 00001388 00000014 00002ee0")


def test_offset_index_finds_a_batch_that_begins_no_later() -> None:
    index = offset_index()

    # 105 may be in the batch that ends at 109: its position is known, but not whether it begins at 105 or before.
    assert [index.position_before(Offset(offset)) for offset in (100, 103, 104, 105, 109, 119, 120, 999)] == [
        0, 0, 0, 0, 5000, 5000, 12000, 12000,
    ]  # fmt: skip


def test_offset_index_finds_the_begin_when_it_is_empty() -> None:
    assert OffsetIndex(Offset(100)).position_before(Offset(500)) == 0
    assert OffsetIndex(Offset(100)).last_position == 0


def test_offset_index_keeps_the_batches_before_a_truncation() -> None:
    index = offset_index()

    index.truncate(Offset(110))
    assert index.last_position == 5000
    index.truncate(Offset(109))
    assert index.last_position == 0
    assert index.to_bytes() == bytes.fromhex("00000004 00000000")


def test_time_index_has_kafka_bytes() -> None:
    index = TimeIndex(Offset(100))

    assert index.append(1000, Offset(104)) == bytes.fromhex("00000000000003e8 00000004")


def test_time_index_takes_only_larger_timestamps() -> None:
    index = TimeIndex(Offset(100))

    assert index.append(-1, Offset(101)) == b""
    assert index.append(1000, Offset(104)) != b""
    assert index.append(1000, Offset(109)) == b""
    assert index.append(999, Offset(110)) == b""
    assert index.last_entry == (1000, 104)
    assert len(index.to_bytes()) == 12


def test_time_index_finds_the_first_known_batch_with_that_time_or_a_later_one() -> None:
    index = time_index()

    assert [index.offset_reaching(timestamp_ms) for timestamp_ms in (0, 1000, 1001, 2000, 2001, 3000, 3001)] == [
        104, 104, 109, 109, 120, 120, None,
    ]  # fmt: skip


def test_time_index_knows_the_largest_timestamp_before_an_offset() -> None:
    index = time_index()

    assert index.largest_before(Offset(104)) is None
    assert index.largest_before(Offset(105)) == (1000, 104)
    assert index.largest_before(Offset(121)) == (3000, 120)


def test_time_index_keeps_the_entries_before_a_truncation() -> None:
    index = time_index()

    index.truncate(Offset(110))
    assert index.last_entry == (2000, 109)
    index.truncate(Offset(104))
    assert index.last_entry == (-1, 100)
    assert index.to_bytes() == b""


@pytest.mark.parametrize(
    ("gone_by", "entries"),
    [pytest.param(INDEX_INTERVAL_BYTES, 0, id="4096 bytes"), pytest.param(INDEX_INTERVAL_BYTES + 1, 1, id="one more")],
)
def test_entry_is_due_after_more_than_the_interval(gone_by: int, entries: int) -> None:
    files = MemoryFiles()
    indexes = SegmentIndexes(
        files,
        offset_index_name="0.index",
        time_index_name="0.timeindex",
        aborted_index_name="0.txnindex",
        base_offset=Offset(0),
        loaded=LoadedIndexes(),
    )
    indexes.attach()

    indexes.note(batch(0, timestamps_ms=[5]).header, 0)
    indexes.note(batch(1, timestamps_ms=[6]).header, gone_by)

    assert len(files.read("0.index")) == entries * 8
    assert len(files.read("0.timeindex")) == entries * 12
