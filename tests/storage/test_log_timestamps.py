"""The search for records by time, compared with a search of every record."""

import random

import pytest

from raft.errors import CorruptBatchError
from raft.records.batch import read_records
from raft.records.header import read_header
from raft.records.header_fields import HEADER
from raft.storage.log import Log
from raft.storage.timestamps import TimestampOffset
from raft.types import Batch, Epoch, Offset
from tests.memory_files.files import MemoryFiles
from tests.records.samples import with_field
from tests.storage.logs import FIRST_SEGMENT, batch, open_log

MAX_TIMESTAMP_AT = 35
AHEAD_MS = 10**13


def found(timestamp_ms: int, offset: int, epoch: int = 1) -> TimestampOffset:
    return TimestampOffset(timestamp_ms=timestamp_ms, offset=Offset(offset), epoch=Epoch(epoch))


def log_of(*written: Batch, segment_bytes: int = 1 << 20) -> Log:
    log = open_log(MemoryFiles(), segment_bytes=segment_bytes)
    log.append(written)
    return log


def three_batches() -> Log:
    return log_of(
        batch(0, epoch=1, timestamps_ms=[100, 300, 200]),
        batch(3, epoch=2, timestamps_ms=[250]),
        batch(4, epoch=4, timestamps_ms=[400, 300]),
    )


@pytest.mark.parametrize(
    ("timestamp_ms", "end", "expected"),
    [
        pytest.param(0, 6, found(100, 0), id="before all"),
        pytest.param(100, 6, found(100, 0), id="exactly the first"),
        pytest.param(101, 6, found(300, 1), id="within a batch"),
        pytest.param(301, 6, found(400, 4, 4), id="in a later epoch"),
        pytest.param(401, 6, None, id="after all"),
        pytest.param(301, 4, None, id="only behind the end"),
        pytest.param(100, 0, None, id="nothing is committed"),
    ],
)
def test_first_record_of_a_time_is_found(timestamp_ms: int, end: int, expected: TimestampOffset | None) -> None:
    assert three_batches().find_offset_by_timestamp(timestamp_ms, Offset(end)) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(6, found(400, 4, 4), id="everything"),
        pytest.param(4, found(300, 1), id="before the last batch"),
        pytest.param(3, found(300, 1), id="the first batch"),
        pytest.param(0, None, id="nothing is committed"),
    ],
)
def test_largest_timestamp_is_found(end: int, expected: TimestampOffset | None) -> None:
    assert three_batches().find_largest_timestamp(Offset(end)) == expected


def test_nothing_is_found_when_records_have_no_time() -> None:
    log = log_of(batch(0), batch(1))

    assert log.find_offset_by_timestamp(0, Offset(2)) is None
    assert log.find_largest_timestamp(Offset(2)) is None


def test_nothing_is_found_in_an_empty_log() -> None:
    log = open_log(MemoryFiles())

    assert log.find_offset_by_timestamp(-1, Offset(0)) is None
    assert log.find_largest_timestamp(Offset(0)) is None


def test_largest_timestamp_is_right_when_the_later_records_were_truncated() -> None:
    log = log_of(*(batch(offset, timestamps_ms=[time_ms]) for offset, time_ms in enumerate((10, 30, 20, 99))))

    log.truncate(Offset(3))

    assert log.find_largest_timestamp(Offset(3)) == found(30, 1)
    assert log.find_offset_by_timestamp(25, Offset(3)) == found(30, 1)
    assert log.find_offset_by_timestamp(31, Offset(3)) is None


def test_search_returns_the_batch_as_a_whole_when_its_header_has_a_time_that_no_record_has() -> None:
    payload = with_field(batch(0, timestamps_ms=[10]).payload, MAX_TIMESTAMP_AT, ">q", 999)
    lying = Batch(header=read_header(payload), payload=payload)

    log = log_of(lying, batch(1, timestamps_ms=[500]))

    assert log.find_offset_by_timestamp(11, Offset(2)) == found(999, 0)
    assert log.find_largest_timestamp(Offset(2)) == found(999, 0)


@pytest.mark.parametrize(
    "segment_bytes", [pytest.param(1 << 20, id="in one segment"), pytest.param(60_000, id="in several segments")]
)
def test_search_looks_at_few_batches_when_a_clock_was_ahead(segment_bytes: int) -> None:
    times = [AHEAD_MS, *range(1000, 1098), AHEAD_MS + 5, 1100, AHEAD_MS + 9]
    files = MemoryFiles()
    log = open_log(files, segment_bytes=segment_bytes)
    log.append([batch(offset, timestamps_ms=[ms], value=b"x" * 1000) for offset, ms in enumerate(times)])
    # A batch that is looked at must be whole, and this one between the records with the clock ahead is not.
    files.flip_bit(FIRST_SEGMENT, 30_000)

    assert log.find_largest_timestamp(Offset(102)) == found(AHEAD_MS + 9, 101)
    assert log.find_largest_timestamp(Offset(101)) == found(AHEAD_MS + 5, 99)
    assert log.find_largest_timestamp(Offset(99)) == found(AHEAD_MS, 0)
    assert log.find_offset_by_timestamp(AHEAD_MS + 1, Offset(102)) == found(AHEAD_MS + 5, 99)
    assert log.find_offset_by_timestamp(AHEAD_MS + 6, Offset(102)) == found(AHEAD_MS + 9, 101)
    assert log.find_offset_by_timestamp(AHEAD_MS + 6, Offset(101)) is None


@pytest.mark.parametrize("end", range(1, 12))
def test_largest_timestamp_is_right_wherever_the_log_was_truncated(end: int) -> None:
    written = [batch(offset, timestamps_ms=[1000 + offset], value=b"x" * 1500) for offset in range(12)]
    log = log_of(*written)

    log.truncate(Offset(end))

    assert log.find_largest_timestamp(Offset(end)) == found(1000 + end - 1, end - 1)
    assert log.find_offset_by_timestamp(1000 + end - 1, Offset(end)) == found(1000 + end - 1, end - 1)


@pytest.mark.parametrize("seed", range(6))
def test_search_agrees_with_a_search_of_every_record(seed: int) -> None:
    dice = random.Random(f"timestamps {seed}")
    written: list[Batch] = []
    now_ms = 1000
    while len(written) < 120:
        # Time mostly advances, sometimes goes back, and often stays the same.
        now_ms = max(0, now_ms + dice.choice((-50, 0, 0, 1, 5, 40)))
        times = [now_ms + dice.randrange(3) for _ in range(dice.randint(1, 4))]
        start = written[-1].header.end_offset if written else 0
        written.append(batch(start, timestamps_ms=times, value=b"x" * dice.choice((5, 200, 3000))))
    files = MemoryFiles()
    log = open_log(files, segment_bytes=40_000)
    log.append(written)
    log.truncate(written[100].header.base_offset)
    del written[100:]
    if seed % 2:
        log.close()
        log = open_log(files, segment_bytes=40_000)
    records = [record for one in written for record in read_records(one.payload)]
    ends = [one.header.end_offset for one in written]

    for _ in range(150):
        timestamp_ms = dice.randrange(max(0, now_ms - 400), now_ms + 400)
        end = dice.choice(ends)
        visible = [record for record in records if record.offset < end]
        first = next((record for record in visible if record.timestamp_ms >= timestamp_ms), None)
        largest_ms = max(record.timestamp_ms for record in visible)
        largest = next(record for record in visible if record.timestamp_ms == largest_ms)

        by_time = log.find_offset_by_timestamp(timestamp_ms, end)
        by_size = log.find_largest_timestamp(end)

        assert by_time == (None if first is None else found(first.timestamp_ms, first.offset))
        assert by_size == found(largest.timestamp_ms, largest.offset)


def test_search_takes_the_batch_as_a_whole_when_its_records_cannot_be_read() -> None:
    payload = with_field(batch(0, timestamps_ms=[10, 30]).payload, HEADER.size, ">b", 0x7F)
    unreadable = Batch(header=read_header(payload), payload=payload)
    log = log_of(unreadable, batch(2, timestamps_ms=[20]))

    assert log.find_offset_by_timestamp(15, Offset(3)) == found(30, 0)
    assert log.find_largest_timestamp(Offset(3)) == found(30, 0)


def test_search_names_file_and_byte_when_a_batch_is_damaged() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0, timestamps_ms=[10])])
    files.flip_bit(FIRST_SEGMENT, HEADER.size)

    with pytest.raises(CorruptBatchError, match=f"{FIRST_SEGMENT} is damaged at byte 0"):
        log.find_offset_by_timestamp(5, Offset(1))


@pytest.mark.rule("LOG-30")
@pytest.mark.parametrize("position", [7, 15], ids=["offset", "epoch"])
def test_search_does_not_believe_the_place_of_a_damaged_batch(position: int) -> None:
    """No checksum covers it."""
    files = MemoryFiles()
    log = open_log(files)
    second = batch(3, epoch=2, timestamps_ms=[250])
    log.append([batch(0, epoch=1, timestamps_ms=[100]), batch(1, epoch=1, count=2, timestamps_ms=[150, 160]), second])
    log.flush()
    files.flip_bit(FIRST_SEGMENT, log.size_bytes() - second.header.size_bytes + position, bit=3)

    with pytest.raises(CorruptBatchError, match="expected"):
        log.find_offset_by_timestamp(200, Offset(4))
    with pytest.raises(CorruptBatchError, match="expected"):
        log.find_largest_timestamp(Offset(4))
