import logging
import random

import pytest

from raft.errors import CorruptBatchError, StorageError
from raft.records.batches import read_batches
from raft.records.header import read_header
from raft.storage.files import Files
from raft.storage.log import Log
from raft.storage.segment_indexes import INDEX_INTERVAL_BYTES
from raft.types import Batch, BatchHeader, Epoch, EpochStart, Offset
from tests.memory_files.files import Call, MemoryFiles, PowerCutError
from tests.records.samples import with_field
from tests.storage.logs import (
    DIRECTORY,
    FIRST_SEGMENT,
    batch,
    batches,
    check_indexes,
    content,
    last_epoch,
    open_log,
    recovery_point,
)

SMALL = batch(0).header.size_bytes
LAST_OFFSET_DELTA_AT = 23
NO_TAIL = 0


def segment_names(files: Files) -> list[str]:
    return [name for name in files.names_in(DIRECTORY) if name.endswith(".log")]


def epochs(*pairs: tuple[int, int]) -> tuple[EpochStart, ...]:
    return tuple(EpochStart(epoch=Epoch(epoch), start_offset=Offset(start)) for epoch, start in pairs)


@pytest.fixture(params=[pytest.param(4 << 20, id="from memory"), pytest.param(NO_TAIL, id="from disk")])
def tail_bytes(request: pytest.FixtureRequest) -> int:
    """Reads must be the same whether the newest bytes are still in memory or not."""
    assert isinstance(request.param, int)
    return request.param


def test_log_is_empty_when_new(files: Files) -> None:
    log = open_log(files)

    assert (log.start_offset, log.end_offset, log.epochs) == (0, 0, ())
    assert log.read(Offset(0), max_bytes=1000, end_offset=Offset(100)) == b""
    assert segment_names(files) == ["00000000000000000000.log"]
    log.close()


@pytest.mark.rule("LOG-14")
def test_log_holds_what_was_appended_when_opened_again(files: Files) -> None:
    log = open_log(files)
    written = batches([1, 3, 2])
    log.append(written[:1])
    log.append(written[1:])
    log.close()

    log = open_log(files)

    assert content(log) == written
    assert (log.end_offset, last_epoch(log)) == (6, 1)
    log.append([batch(6, epoch=4)])
    assert content(log) == [*written, batch(6, epoch=4)]
    log.close()


def test_log_passes_every_header_in_order_when_opened(files: Files) -> None:
    log = open_log(files, segment_bytes=3 * SMALL)
    written = batches([1] * 10)
    log.append(written)
    log.close()
    seen: list[BatchHeader] = []

    open_log(files, on_batch=seen.append).close()

    assert seen == [written_batch.header for written_batch in written]


@pytest.mark.rule("LOG-1")
def test_log_writes_offset_and_epoch_of_the_header_into_the_bytes() -> None:
    log = open_log(MemoryFiles())
    log.append([batch(0)])
    from_a_client = batch(7, epoch=9)
    placed = batch(1, epoch=2, value=b"value").header

    log.append([Batch(header=placed, payload=from_a_client.payload)])

    (stored,) = list(read_batches(log.read(Offset(1), max_bytes=1000, end_offset=Offset(2))))
    assert stored.header == placed
    assert stored.payload[12 + 4 :] == from_a_client.payload[12 + 4 :]


def test_log_writes_batches_of_one_append_in_one_go() -> None:
    files = MemoryFiles()
    log = open_log(files)
    writes = files.calls[Call.WRITE]

    log.append(batches([1] * 5))

    assert files.calls[Call.WRITE] == writes + 1


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param([batch(1)], id="gap"),
        pytest.param([batch(0), batch(0)], id="twice"),
        pytest.param([batch(0, epoch=3), batch(1, epoch=2)], id="epoch falls"),
        pytest.param([Batch(header=batch(0).header, payload=b"short")], id="size"),
    ],
)
@pytest.mark.rule("LOG-5")
def test_log_stops_the_node_when_a_batch_does_not_belong_there(wrong: list[Batch]) -> None:
    log = open_log(MemoryFiles())

    with pytest.raises(AssertionError):
        log.append(wrong)


def test_read_returns_whole_batches_within_all_bounds(tail_bytes: int) -> None:
    log = open_log(MemoryFiles(), tail_bytes=tail_bytes)
    written = batches([2, 3, 1, 4])
    for one in written:
        log.append([one])
    sizes = [one.header.size_bytes for one in written]

    def read(start: int, max_bytes: int = 10_000, end: int = 10) -> list[Batch]:
        return list(read_batches(log.read(Offset(start), max_bytes=max_bytes, end_offset=Offset(end))))

    assert read(0) == written
    assert read(3) == written[1:], "the batch that holds the offset is returned whole"
    assert read(5) == written[2:]
    assert read(0, max_bytes=sizes[0] + sizes[1]) == written[:2]
    assert read(0, max_bytes=sizes[0] + sizes[1] - 1) == written[:1]
    assert read(2, max_bytes=1) == written[1:2], "at least one"
    assert read(0, end=6) == written[:3]
    assert read(0, end=8) == written[:3], "none reaches beyond the end"
    assert read(6, end=8) == [], "not even the first"
    assert read(10) == []
    assert read(4, end=4) == []
    assert read(0, end=99) == written


def test_read_finds_every_offset_when_indexes_are_sparse(tail_bytes: int) -> None:
    log = open_log(MemoryFiles(), tail_bytes=tail_bytes, segment_bytes=50_000)
    # Small ones, one larger than the index interval, one larger than the window in which a batch is looked for.
    written: list[Batch] = []
    for round_number in range(12):
        for value_bytes in (5, 5, 300, 5000, 5, 20_000 if round_number % 4 == 0 else 700):
            start = written[-1].header.end_offset if written else 0
            written.append(batch(start, count=2, value=b"x" * (value_bytes // 2)))
    log.append(written)

    for offset in range(log.end_offset):
        (found,) = list(read_batches(log.read(Offset(offset), max_bytes=1, end_offset=log.end_offset)))

        assert found == written[offset // 2]


def test_read_goes_to_the_end_of_a_segment_only(tail_bytes: int) -> None:
    log = open_log(MemoryFiles(), segment_bytes=2 * SMALL, tail_bytes=NO_TAIL)
    log.append(batches([1] * 4))

    found = list(read_batches(log.read(Offset(0), max_bytes=10_000, end_offset=Offset(4))))

    assert found == batches([1] * 2)


def test_read_names_file_and_byte_when_the_file_was_changed_meanwhile() -> None:
    files = MemoryFiles()
    log = open_log(files, tail_bytes=NO_TAIL)
    log.append(batches([1] * 3))
    files.flip_bit(FIRST_SEGMENT, SMALL + 8, bit=7)

    with pytest.raises(CorruptBatchError, match=r"\.log is damaged at byte"):
        log.read(Offset(2), max_bytes=1000, end_offset=Offset(3))


def test_read_does_not_wait_for_ever_when_the_file_became_shorter() -> None:
    files = MemoryFiles()
    log = open_log(files, tail_bytes=NO_TAIL)
    log.append(batches([1] * 3))
    files.open(FIRST_SEGMENT).truncate(SMALL + 40)
    with pytest.raises(CorruptBatchError, match="batch is incomplete: 40 bytes are left"):
        log.read(Offset(1), max_bytes=1000, end_offset=Offset(3))

    files.open(FIRST_SEGMENT).truncate(SMALL + 10)

    with pytest.raises(CorruptBatchError, match="10 bytes are not a batch"):
        log.read(Offset(2), max_bytes=1000, end_offset=Offset(3))


@pytest.mark.rule("LOG-14")
def test_log_begins_a_segment_when_the_last_one_is_full(files: Files) -> None:
    log = open_log(files, segment_bytes=3 * SMALL)

    log.append(batches([1] * 7))

    assert segment_names(files) == [f"{base:020d}.log" for base in (0, 3, 6)]
    assert content(log) == batches([1] * 7)
    assert recovery_point(files).offset == 6, "a full segment is flushed before the next one exists"
    check_indexes(files)
    log.close()


def test_log_writes_a_batch_larger_than_a_segment_into_its_own_segment() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=3 * SMALL)

    log.append([batch(0), batch(1, value=b"x" * 1000), batch(2)])

    assert segment_names(files) == [f"{base:020d}.log" for base in (0, 1, 2)]


def test_log_begins_a_segment_when_an_index_could_not_hold_the_offset() -> None:
    largest_delta = 2**31 - 1
    payload = with_field(batch(0).payload, LAST_OFFSET_DELTA_AT, ">i", largest_delta)
    wide = Batch(header=read_header(payload), payload=payload)
    files = MemoryFiles()
    log = open_log(files)

    log.append([wide, batch(largest_delta + 1)])

    assert segment_names(files) == [f"{0:020d}.log", f"{2**31:020d}.log"]


def test_flush_returns_the_end_that_is_durable_then() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([1, 2]))
    assert log.durable_end_offset == 0

    assert log.flush() == 3

    assert log.durable_end_offset == 3
    log.append(batches([1], start=3))
    files.crash()
    assert open_log(files).end_offset == 3


@pytest.mark.rule("LOG-10", "LOG-13")
def test_epochs_are_known_and_on_the_disk_when_flushed(files: Files) -> None:
    log = open_log(files)
    log.append([batch(0, epoch=1), batch(1, epoch=1), batch(2, epoch=4)])
    log.append([batch(3, epoch=4), batch(4, epoch=7)])

    assert log.epochs == epochs((1, 0), (4, 2), (7, 4))
    assert last_epoch(log) == 7
    log.flush()
    assert files.read(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n3\n1 0\n4 2\n7 4\n"
    log.close()


def test_epochs_are_not_written_again_when_they_stay() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0)])
    log.flush()
    renames = files.calls[Call.RENAME]

    log.append([batch(1)])
    log.flush()

    assert files.calls[Call.RENAME] == renames


@pytest.mark.rule("LOG-13")
@pytest.mark.parametrize(
    "stale",
    [
        pytest.param(b"0\n1\n1 0\n", id="entries missing"),
        pytest.param(b"0\n3\n1 0\n2 1\n9 5\n", id="entry past the end"),
        pytest.param(b"", id="empty"),
        pytest.param(b"garbage", id="garbage"),
        pytest.param(None, id="missing"),
    ],
)
def test_epoch_checkpoint_is_made_right_when_the_log_is_opened(
    stale: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0, epoch=1), batch(1, epoch=2)])
    log.close()
    if stale is None:
        files.lose(f"{DIRECTORY}/leader-epoch-checkpoint")
    else:
        files.put(f"{DIRECTORY}/leader-epoch-checkpoint", stale)

    log = open_log(files)

    assert log.epochs == epochs((1, 0), (2, 1))
    assert files.read(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n2\n1 0\n2 1\n"
    assert ("written again" in caplog.text) == (stale == b"garbage")


@pytest.mark.parametrize("end", range(11))
@pytest.mark.rule("DIVERGE-6", "LOG-12")
def test_truncate_removes_all_from_the_offset_on(files: Files, end: int) -> None:
    log = open_log(files, segment_bytes=3 * SMALL)
    written = [batch(offset, epoch=1 + offset // 4) for offset in range(10)]
    log.append(written)
    log.flush()

    log.truncate(Offset(end))

    assert content(log) == written[:end]
    assert log.epochs == epochs(*((epoch, start) for epoch, start in ((1, 0), (2, 4), (3, 8)) if start < end))
    assert log.durable_end_offset == end
    check_indexes(files)
    log.append([batch(end, epoch=5, value=b"other")])
    assert content(log) == [*written[:end], batch(end, epoch=5, value=b"other")]
    log.close()
    log = open_log(files)
    assert content(log) == [*written[:end], batch(end, epoch=5, value=b"other")]
    log.close()


def test_truncate_lowers_the_recovery_point_before_it_removes_anything() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([1] * 5))
    recovery_point(files).advance(log.flush())
    log.close()
    log = open_log(files)

    log.truncate(Offset(2))
    log.append([batch(2, epoch=2), batch(3, epoch=2)])
    files.crash()

    # If it were still at 5, the lost tail would look like lost records.
    assert recovery_point(files).offset == 2
    assert open_log(files).end_offset == 2


def test_truncate_does_nothing_when_the_log_ends_there() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([1] * 5))
    calls = files.calls.total()

    log.truncate(Offset(5))

    assert files.calls.total() == calls


@pytest.mark.rule("LOG-29")
@pytest.mark.parametrize("end", [1, 3])
def test_truncate_stops_the_node_when_no_batch_ends_there(end: int) -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([2, 2]))

    with pytest.raises(CorruptBatchError, match=f"no batch ends at offset {end}, where the log has to be truncated"):
        log.truncate(Offset(end))

    assert files.calls[Call.TRUNCATE] == 0, "nothing is removed"


@pytest.mark.rule("LOG-29")
@pytest.mark.parametrize("damaged", [0, 1])
def test_truncate_removes_nothing_by_a_damaged_offset(damaged: int) -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([2, 2, 2]))
    files.flip_bit(FIRST_SEGMENT, damaged * len(files.read(FIRST_SEGMENT)) // 3 + 3)

    with pytest.raises(CorruptBatchError, match="no batch ends at offset 4, where the log has to be truncated"):
        log.truncate(Offset(4))

    assert files.calls[Call.TRUNCATE] == 0


def test_truncate_behind_the_end_is_an_error_of_the_caller() -> None:
    log = open_log(MemoryFiles())
    log.append(batches([2, 2]))

    with pytest.raises(AssertionError):
        log.truncate(Offset(99))


@pytest.mark.rule("LOG-17")
def test_nothing_is_written_any_more_when_a_write_failed() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0)])
    log.flush()
    files.fail(Call.WRITE, written_bytes=20)
    with pytest.raises(StorageError, match="cannot write"):
        log.append([batch(1)])
    calls = files.calls.total()

    for act in (lambda: log.append([batch(1)]), log.flush, lambda: log.truncate(Offset(0))):
        with pytest.raises(StorageError, match="the log takes no writes after an error: cannot write"):
            act()
    log.close()

    assert files.calls.total() == calls
    assert content(open_log(files)) == [batch(0)], "the part that was written is a torn end"


@pytest.mark.rule("LOG-17")
def test_flush_is_never_tried_again_when_it_failed() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append([batch(0)])
    files.fail(Call.FLUSH)
    with pytest.raises(StorageError, match="cannot flush"):
        log.flush()
    flushes = files.calls[Call.FLUSH]

    with pytest.raises(StorageError, match="the log takes no writes"):
        log.flush()
    log.close()

    assert files.calls[Call.FLUSH] == flushes
    assert log.durable_end_offset == 0


def test_close_writes_the_recovery_point_and_the_largest_timestamp(files: Files) -> None:
    log = open_log(files)
    log.append([batch(0, timestamps_ms=[5]), batch(1, timestamps_ms=[9]), batch(2, timestamps_ms=[7])])

    log.close()

    assert recovery_point(files).offset == 3
    assert files.read(FIRST_SEGMENT.replace(".log", ".timeindex")) == bytes.fromhex("0000000000000009 00000001")
    assert check_indexes(files) == 1


@pytest.mark.parametrize("damage", [b"", b"\x00" * 16, b"\xff" * 24, b"abc"])
def test_index_files_are_made_right_when_stale(damage: bytes) -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=30_000)
    log.append([batch(offset, value=b"x" * 500, timestamps_ms=[offset]) for offset in range(100)])
    log.close()
    names = [name for name in files.names_in(DIRECTORY) if name.endswith("index")]
    right = {name: files.read(f"{DIRECTORY}/{name}") for name in names}
    for name in names:
        files.put(f"{DIRECTORY}/{name}", damage)

    open_log(files, segment_bytes=30_000).close()

    assert {name: files.read(f"{DIRECTORY}/{name}") for name in names} == right
    assert check_indexes(files) > 20


def test_index_files_are_left_alone_when_right() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=30_000)
    log.append([batch(offset, value=b"x" * 500, timestamps_ms=[offset]) for offset in range(100)])
    log.close()
    creates = files.calls[Call.CREATE]

    log = open_log(files, segment_bytes=30_000)

    assert files.calls[Call.CREATE] == creates
    log.close()


def test_indexes_without_a_segment_are_removed() -> None:
    files = MemoryFiles()
    open_log(files).close()
    files.put(f"{DIRECTORY}/00000000000000000099.index", b"\x00" * 8)
    files.put(f"{DIRECTORY}/00000000000000000099.timeindex", b"\x00" * 12)

    open_log(files)

    assert not [name for name in files.names_in(DIRECTORY) if "99" in name]


def test_files_of_others_are_left_alone() -> None:
    files = MemoryFiles()
    open_log(files).close()
    others = ["00000000000000000009-0000000002.checkpoint", "notes.txt", "00000000000000000007.snapshot"]
    for name in others:
        files.put(f"{DIRECTORY}/{name}", b"content")

    open_log(files)

    assert set(others) <= set(files.names_in(DIRECTORY))


def test_indexes_are_right_at_every_moment_also_when_the_process_is_killed() -> None:
    nth = 0
    entries: list[int] = []
    survived = False
    while not survived:
        nth += 1
        files = MemoryFiles()
        log = open_log(files, segment_bytes=20_000)
        files.cut_power_before(nth)
        survived = _append_until_killed(log)
        files.kill()
        entries.append(check_indexes(files))

    assert max(entries) > 10


def _append_until_killed(log: Log) -> bool:
    try:
        for offset in range(40):
            log.append([batch(offset, value=b"x" * 1500, timestamps_ms=[1000 + offset])])
        log.truncate(Offset(7))
        log.append([batch(7, epoch=2, timestamps_ms=[5])])
        log.close()
    except PowerCutError:
        return False
    return True


def test_log_logs_nothing_when_all_is_well(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([1] * 5))
    log.close()

    open_log(files).close()

    assert caplog.text == ""


def test_small_batches_are_returned_within_all_bounds(tail_bytes: int) -> None:
    written = batches([1 + number % 3 for number in range(400)])
    log = open_log(MemoryFiles(), tail_bytes=tail_bytes)
    for at in range(0, len(written), 7):
        log.append(written[at : at + 7])
    dice = random.Random(5)

    for _ in range(300):
        first = dice.randrange(len(written))
        last = dice.randrange(first, len(written))
        start = Offset(dice.randint(written[first].header.base_offset, written[first].header.last_offset))
        end = Offset(dice.randint(start + 1, written[last].header.end_offset))
        max_bytes = dice.choice((1, 300, 5_000, 20_000, 1 << 20))

        read = log.read(start, max_bytes=max_bytes, end_offset=end)

        in_bounds = [batch for batch in written[first:] if batch.header.end_offset <= end]
        count = len(list(read_batches(read))) if read else 0
        assert read == b"".join(batch.payload for batch in in_bounds[:count])
        assert len(read) <= max_bytes or count == 1
        # What is left out is less than the bytes between two entries of the index.
        size_bytes = sum(batch.header.size_bytes for batch in in_bounds)
        assert len(read) > min(size_bytes, max_bytes) - 2 * INDEX_INTERVAL_BYTES
