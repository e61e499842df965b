"""Opening a log after damage: below the recovery point the start is refused, above it the torn end is truncated."""

import logging
from contextlib import suppress
from pathlib import Path

import pytest

from raft.errors import CorruptBatchError
from raft.records.batches import read_headers
from raft.storage.disk import DiskFiles
from raft.types import Batch, Epoch, Offset, OffsetAndEpoch
from tests.memory_files.files import MemoryFiles, PowerCutError
from tests.storage.logs import (
    DIRECTORY,
    FIRST_SEGMENT,
    batch,
    batches,
    check_indexes,
    content,
    crash_at_every_call,
    last_epoch,
    open_log,
    recovery_point,
)

SMALL = batch(0).header.size_bytes
WRITTEN = batches([1] * 7)


def seven_batches(files: MemoryFiles, *, known_flushed: int = 0, segment_bytes: int = 3 * SMALL) -> None:
    """Offsets 0 to 6 in segments 0, 3 and 6, with the recovery point of the test."""
    log = open_log(files, segment_bytes=segment_bytes)
    log.append(WRITTEN)
    log.close()
    point = recovery_point(files)
    point.retreat(Offset(known_flushed))
    assert point.offset == known_flushed


def machine(*, known_flushed: int = 0, segment_bytes: int = 3 * SMALL) -> MemoryFiles:
    files = MemoryFiles()
    seven_batches(files, known_flushed=known_flushed, segment_bytes=segment_bytes)
    return files


def damage_from(files: MemoryFiles, offset: int) -> None:
    """Flip a bit in every batch from an offset on, so that no whole one is left there."""
    for name in files.names_in(DIRECTORY):
        if name.endswith(".log"):
            position = 0
            for header in read_headers(files.read(f"{DIRECTORY}/{name}")):
                if header.base_offset >= offset:
                    files.flip_bit(f"{DIRECTORY}/{name}", position + 30)
                position += header.size_bytes


def segment(base_offset: int) -> str:
    return f"{DIRECTORY}/{base_offset:020d}.log"


def position_of(offset: int) -> tuple[str, int]:
    """File and byte of a batch in that log."""
    return segment(offset // 3 * 3), offset % 3 * SMALL


@pytest.mark.rule("LOG-13")
def test_log_ends_before_a_flipped_bit_when_above_the_recovery_point_and_nothing_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = machine(known_flushed=6)
    name, position = position_of(6)
    files.flip_bit(name, position + 30)

    log = open_log(files, segment_bytes=3 * SMALL)

    assert content(log) == WRITTEN[:6]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{name} is damaged at byte {position}: batch with checksum" in record.message
    assert f"end_offset=6 removed_bytes={SMALL} recovery_point=" in record.message
    assert record.message.endswith(
        "this node may have acknowledged it. If it was committed, this node copies it again, from offset 6 on: stop no "
        "other voter until its lag is 0, and check the disk"
    )
    check_indexes(files)
    log.append([batch(6, epoch=2)])
    log.close()
    log = open_log(files, segment_bytes=3 * SMALL)
    assert content(log) == [*WRITTEN[:6], batch(6, epoch=2)]
    assert len(caplog.records) == 1, "mended for good"


@pytest.mark.parametrize("segment_bytes", [3 * SMALL, 1 << 20])
@pytest.mark.parametrize("damaged", range(6))
@pytest.mark.rule("LOG-13", "LOG-19")
def test_node_refuses_to_start_when_a_whole_batch_follows_a_flipped_bit(damaged: int, segment_bytes: int) -> None:
    files = machine(segment_bytes=segment_bytes)
    name, position = position_of(damaged) if segment_bytes == 3 * SMALL else (segment(0), damaged * SMALL)
    later, byte = position_of(damaged + 1) if segment_bytes == 3 * SMALL else (segment(0), (damaged + 1) * SMALL)
    files.flip_bit(name, position + 30)
    before = {name: files.read(f"{DIRECTORY}/{name}") for name in files.names_in(DIRECTORY)}

    with pytest.raises(
        CorruptBatchError,
        match=(
            rf"{name} is damaged at byte {position}: .*; a whole batch at offset {damaged + 1} follows at byte {byte} "
            rf"of memory:/{later}, .*the log is not truncated.* "
            rf"'truncate -s {position} memory:/{name}'.* offset {damaged} on"
        ),
    ):
        open_log(files, segment_bytes=segment_bytes)

    assert {name: files.read(f"{DIRECTORY}/{name}") for name in files.names_in(DIRECTORY)} == before


@pytest.mark.rule("LOG-19")
def test_log_is_truncated_when_an_operator_has_truncated_the_file_as_the_error_says() -> None:
    files = machine()
    files.flip_bit(segment(3), SMALL + 30)
    with pytest.raises(CorruptBatchError, match=f"truncate -s {SMALL} memory:/{segment(3)}' and remove the segments"):
        open_log(files)

    files.put(segment(3), files.read(segment(3))[:SMALL])
    files.lose(segment(6))

    assert content(open_log(files)) == WRITTEN[:4]


@pytest.mark.rule("LOG-19")
def test_every_flipped_bit_is_refused_when_a_whole_batch_follows() -> None:
    for position in range(SMALL):
        files = machine(segment_bytes=1 << 20)
        files.flip_bit(segment(0), 2 * SMALL + position, bit=7)
        # No checksum covers the epoch: an epoch that became too high is found at the next batch.
        found_at = 3 if 12 < position < 16 else 2

        with pytest.raises(CorruptBatchError, match=f"is damaged at byte {found_at * SMALL}: .*a whole batch"):
            open_log(files)


@pytest.mark.rule("LOG-19")
def test_lost_page_is_refused_when_a_later_one_holds_a_whole_batch() -> None:
    files = machine(segment_bytes=1 << 20)
    whole = files.read(FIRST_SEGMENT)
    files.put(FIRST_SEGMENT, whole[: 2 * SMALL] + bytes(2 * SMALL + 9) + whole[4 * SMALL + 9 :])

    with pytest.raises(
        CorruptBatchError, match=f"at byte {2 * SMALL}: .*a whole batch at offset 5 follows at byte {5 * SMALL}"
    ):
        open_log(files)


@pytest.mark.rule("LOG-19")
def test_old_batch_behind_a_torn_one_does_not_count() -> None:
    files = machine(known_flushed=7, segment_bytes=1 << 20)
    torn = batch(7).payload[:-2]
    files.put(FIRST_SEGMENT, files.read(FIRST_SEGMENT) + torn + batch(3).payload)

    assert content(open_log(files)) == WRITTEN


@pytest.mark.parametrize("damaged", range(7))
@pytest.mark.rule("LOG-13")
def test_node_refuses_to_start_when_a_bit_flipped_below_the_recovery_point(damaged: int) -> None:
    files = machine(known_flushed=7)
    name, position = position_of(damaged)
    files.flip_bit(name, position + 30)
    before = {name: files.read(f"{DIRECTORY}/{name}") for name in files.names_in(DIRECTORY)}

    with pytest.raises(
        CorruptBatchError,
        match=f"{name} is damaged at byte {position}: .*ends at offset {damaged}, but everything below 7 was flushed",
    ):
        open_log(files)

    assert {name: files.read(f"{DIRECTORY}/{name}") for name in files.names_in(DIRECTORY)} == before


@pytest.mark.rule("LOG-13")
def test_every_flipped_bit_is_found_when_it_is_checked() -> None:
    for position in range(SMALL):
        files = machine(known_flushed=6)
        files.flip_bit(segment(6), position, bit=7)

        log = open_log(files)

        # The checksum covers neither offset nor epoch, but the order of the log does: a gap is found at once, an
        # epoch that became too high only at the next batch, of which there is none.
        assert log.end_offset == (7 if 12 < position < 16 else 6), f"byte {position}"


@pytest.mark.rule("LOG-13")
def test_torn_end_is_truncated_when_the_file_ends_at_any_byte(caplog: pytest.LogCaptureFixture) -> None:
    whole = machine(segment_bytes=1 << 20).read(FIRST_SEGMENT)

    for length in range(len(whole)):
        files = machine(segment_bytes=1 << 20)
        files.put(FIRST_SEGMENT, whole[:length])
        caplog.clear()

        log = open_log(files)

        assert content(log) == WRITTEN[: length // SMALL]
        assert bool(caplog.records) == bool(length % SMALL)
        assert all(
            "it was not written whole, so this node has not acknowledged it" in record.message
            for record in caplog.records
        )
        check_indexes(files)


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param(bytes(1), id="one zero"),
        pytest.param(bytes(100), id="zeros"),
        pytest.param(b"\xff" * 100, id="ones"),
        pytest.param(WRITTEN[0].payload, id="an old batch"),
        pytest.param(batch(7, epoch=0).payload, id="a batch of a lower epoch"),
        pytest.param(batch(8).payload, id="a batch behind a gap"),
        pytest.param(batch(7).payload[:-1], id="most of the next batch"),
    ],
)
@pytest.mark.rule("LOG-13")
def test_invalid_bytes_after_the_last_batch_are_truncated(rubbish: bytes, caplog: pytest.LogCaptureFixture) -> None:
    files = machine(known_flushed=7, segment_bytes=1 << 20)
    files.put(FIRST_SEGMENT, files.read(FIRST_SEGMENT) + rubbish)

    log = open_log(files)

    assert content(log) == WRITTEN
    assert len(files.read(FIRST_SEGMENT)) == 7 * SMALL
    assert f"end_offset=7 removed_bytes={len(rubbish)}" in caplog.text


@pytest.mark.parametrize("lost", [3, 6])
@pytest.mark.rule("LOG-13")
def test_node_refuses_to_start_when_a_flushed_segment_is_missing(lost: int) -> None:
    files = machine(known_flushed=7)
    files.lose(segment(lost))
    names = files.names_in(DIRECTORY)

    with pytest.raises(CorruptBatchError, match="but everything below 7 was flushed"):
        open_log(files)

    assert files.names_in(DIRECTORY) == names, "nothing is touched"


@pytest.mark.rule("LOG-15")
def test_node_refuses_to_start_when_the_first_segment_is_missing() -> None:
    files = machine()
    files.lose(segment(0))

    with pytest.raises(CorruptBatchError, match=f"{segment(3)} is the first segment, but no snapshot ends at offset 3"):
        open_log(files)


@pytest.mark.rule("LOG-13")
def test_node_refuses_to_start_when_the_whole_log_is_missing() -> None:
    files = machine(known_flushed=7)
    for base_offset in (0, 3, 6):
        files.lose(segment(base_offset))

    with pytest.raises(CorruptBatchError, match="ends at offset 0, but everything below 7"):
        open_log(files)


def test_node_refuses_to_start_when_the_log_is_an_older_copy() -> None:
    files = machine(known_flushed=7, segment_bytes=1 << 20)
    files.put(FIRST_SEGMENT, files.read(FIRST_SEGMENT)[: 4 * SMALL])

    with pytest.raises(CorruptBatchError, match="ends at offset 4, but everything below 7"):
        open_log(files)


@pytest.mark.rule("LOG-19")
def test_node_refuses_to_start_when_a_segment_is_missing_and_a_whole_batch_follows() -> None:
    files = machine(known_flushed=3)
    files.lose(segment(3))

    with pytest.raises(
        CorruptBatchError,
        match=f"{segment(6)} follows a segment that ends at offset 3; a whole batch at offset 6 follows at byte 0",
    ):
        open_log(files)

    assert files.exists(segment(6))


@pytest.mark.rule("LOG-13")
def test_segment_behind_a_gap_is_removed_when_nothing_whole_is_in_it(caplog: pytest.LogCaptureFixture) -> None:
    files = machine(known_flushed=3)
    files.lose(segment(3))
    files.put(segment(6), batch(6).payload[:-1])

    log = open_log(files, segment_bytes=3 * SMALL)

    assert content(log) == WRITTEN[:3]
    assert not files.exists(segment(6))
    assert "follows a segment that ends at offset 3" in caplog.text
    assert "this node may have acknowledged it" in caplog.text
    log.append([batch(3, epoch=2)])
    assert content(log) == [*WRITTEN[:3], batch(3, epoch=2)]


def test_stale_segment_that_overlaps_is_removed_when_above_the_recovery_point() -> None:
    files = machine(known_flushed=3)
    files.lose(segment(3))
    files.lose(segment(6))
    files.put(segment(2), batch(2, epoch=1).payload)

    log = open_log(files)

    assert content(log) == WRITTEN[:3]
    assert [name for name in files.names_in(DIRECTORY) if name.endswith(".log")] == [f"{0:020d}.log"]


def test_removed_segments_do_not_return_when_the_power_fails_later() -> None:
    files = machine()
    files.put(segment(0), files.read(segment(0))[:-1])
    files.put(segment(3), b"torn")
    files.lose(segment(6))
    log = open_log(files, segment_bytes=3 * SMALL)
    assert log.end_offset == 2
    # Up to the start of the removed segments; with the same epoch, so that nothing else is written.
    log.append([batch(2, value=b"other")])
    log.flush()

    files.crash()

    assert content(open_log(files)) == [*WRITTEN[:2], batch(2, value=b"other")]


@pytest.mark.rule("LOG-15")
def test_log_may_begin_where_a_snapshot_ends() -> None:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.put(segment(500), batch(500, epoch=3).payload)

    log = open_log(files, start=OffsetAndEpoch(offset=Offset(500), epoch=Epoch(2)))

    assert (log.start_offset, log.end_offset, last_epoch(log)) == (500, 501, 3)


def test_log_is_durable_to_its_end_when_opened() -> None:
    # A killed process leaves its bytes in the machine's cache; the next one must not consider them flushed.
    files = MemoryFiles()
    log = open_log(files)
    log.append(WRITTEN)
    files.kill()

    assert open_log(files).durable_end_offset == 7

    files.crash()
    assert open_log(files).end_offset == 7


def test_recovery_has_the_same_result_when_the_power_fails_at_any_call() -> None:
    def damage(files: MemoryFiles) -> None:
        seven_batches(files, known_flushed=2)
        files.put(segment(0), files.read(segment(0))[:-1])
        files.put(segment(3), b"torn")
        files.lose(segment(6))

    for case, files in crash_at_every_call(damage, lambda files: open_log(files, segment_bytes=3 * SMALL)):
        log = open_log(files)
        assert content(log) == WRITTEN[:2], case
        check_indexes(files)


def test_indexes_are_right_when_the_process_is_killed_during_recovery() -> None:
    nth = 0
    written = [batch(offset, value=b"x" * 1500, timestamps_ms=[offset]) for offset in range(40)]
    end_offset = None
    while end_offset is None:
        nth += 1
        files = MemoryFiles()
        log = open_log(files, segment_bytes=20_000)
        log.append(written)
        recovery_point(files).retreat(Offset(0))
        damage_from(files, 8)
        files.kill()
        files.cut_power_before(nth)
        with suppress(PowerCutError):
            end_offset = open_log(files).end_offset
        files.kill()
        check_indexes(files)

    assert end_offset == 8


def test_torn_end_is_truncated_on_a_real_disk_too(tmp_path: Path) -> None:
    files = DiskFiles(tmp_path)
    log = open_log(files)
    log.append(WRITTEN)
    log.flush()
    log.close()
    path = tmp_path / FIRST_SEGMENT
    recovery_point(files).retreat(Offset(0))
    path.write_bytes(path.read_bytes()[: 3 * SMALL + 10])

    log = open_log(files)

    assert content(log) == WRITTEN[:3]
    assert path.stat().st_size == 3 * SMALL
    log.close()


def test_batch_larger_than_what_is_read_at_once_is_read() -> None:
    written: list[Batch] = [batch(0), batch(1, value=b"x" * (3 << 20)), batch(2)]
    files = MemoryFiles()
    log = open_log(files, segment_bytes=8 << 20)
    log.append(written)
    files.kill()

    log = open_log(files)

    assert content(log) == written


def test_batch_larger_than_what_is_read_at_once_is_truncated_when_torn() -> None:
    files = MemoryFiles()
    log = open_log(files, segment_bytes=8 << 20)
    log.append([batch(0), batch(1, value=b"x" * (3 << 20))])
    files.kill()
    files.put(FIRST_SEGMENT, files.read(FIRST_SEGMENT)[:-1])

    assert content(open_log(files)) == [batch(0)]


@pytest.mark.rule("LOG-13", "LOG-15")
def test_segment_whose_first_batch_is_torn_stays_because_a_snapshot_may_end_where_it_begins() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.append(batches([1, 1]))
    log.roll()
    log.append(batches([1], start=2))
    log.close()
    recovery_point(files).retreat(Offset(2))
    last = f"{DIRECTORY}/{2:020d}.log"
    files.put(last, files.read(last)[:-5])

    log = open_log(files)

    assert (log.end_offset, log.segment_bases) == (2, (0, 2))
    log.append(batches([1], start=2))
    assert content(log) == batches([1, 1, 1])
