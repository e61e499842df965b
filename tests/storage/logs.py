"""Making logs, batches and crashes for the tests of storage."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from raft.core.log_view import LogView
from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.header import read_header
from raft.records.record import Record
from raft.snapshots import footer_batch, state_batches
from raft.storage.data_records import end_of_data
from raft.storage.files import Files
from raft.storage.index import OFFSET_ENTRY, TIME_ENTRY
from raft.storage.log import Log
from raft.storage.log_config import LogConfig
from raft.storage.opened_log import Replay
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.transactions import ProducerState, SnapshotSummary
from raft.types import LOG_BEGIN, Batch, BatchHeader, Epoch, EpochStart, Offset, OffsetAndEpoch
from tests.memory_files.cached_bytes import Draw
from tests.memory_files.files import MemoryFiles, PowerCutError

DIRECTORY = "log-0"
TOPIC = "log"
FIRST_SEGMENT = f"{DIRECTORY}/{0:020d}.log"
CRASH_SEEDS = range(4)


def batch(
    base_offset: int, *, epoch: int = 1, count: int = 1, value: bytes = b"value", timestamps_ms: Sequence[int] = ()
) -> Batch:
    """Return a batch of `count` records at `base_offset`; without timestamps they have none."""
    times = timestamps_ms or [-1] * count
    records = [Record(value=b"%d %s" % (base_offset + i, value), timestamp_ms=time) for i, time in enumerate(times)]
    payload = build_batch(records, base_offset=Offset(base_offset), epoch=Epoch(epoch))
    return Batch(header=read_header(payload), payload=payload)


def batches(sizes: Sequence[int], *, start: int = 0, epoch: int = 1, value: bytes = b"value") -> list[Batch]:
    """Return batches that follow each other, with so many records each."""
    result: list[Batch] = []
    for size in sizes:
        result.append(batch(start, epoch=epoch, count=size, value=value))
        start += size
    return result


def open_log(
    files: Files,
    *,
    segment_bytes: int = 1 << 20,
    tail_bytes: int = 4 << 20,
    point: RecoveryPoint | None = None,
    on_batch: Callable[[BatchHeader], object] = lambda _header: None,
    start: OffsetAndEpoch = LOG_BEGIN,
) -> Log:
    """Open the one log of `files`, making its folder at the first time."""
    if not files.exists(DIRECTORY):
        files.make_directory(DIRECTORY)
    config = LogConfig(segment_bytes=segment_bytes, tail_bytes=tail_bytes)
    snapshot = None if start == LOG_BEGIN else empty_snapshot(start)
    replay = Replay(restore=lambda _at_most: None, on_batch=on_batch)
    return Log.open(files, DIRECTORY, config, point or recovery_point(files), replay, snapshot=snapshot)


def empty_snapshot(end: OffsetAndEpoch) -> SnapshotSummary:
    """Return what a snapshot of Kafka says that ends there: nothing of epochs and writers."""
    return SnapshotSummary(end=end, epochs=(), producers=ProducerState().image(end.offset))


def snapshot_bytes(end: OffsetAndEpoch) -> bytes:
    """Return a snapshot of this project without records and writers."""
    epochs = (EpochStart(epoch=end.epoch, start_offset=Offset(0)),)
    summary = SnapshotSummary(end=end, epochs=epochs, producers=ProducerState().image(end.offset))
    return b"".join([*state_batches(summary), footer_batch(end.epoch)])


def recovery_point(files: Files) -> RecoveryPoint:
    """Return the recovery point of that log."""
    return RecoveryPoint(files, f"{DIRECTORY}/{RECOVERY_POINT_NAME}", topic=TOPIC, partition=0)


def content(log: Log) -> list[Batch]:
    """Return everything in the log, read piece by piece."""
    result: list[Batch] = []
    offset = log.start_offset
    while offset < log.end_offset:
        result += list(read_batches(log.read(offset, max_bytes=1000, end_offset=log.end_offset)))
        offset = result[-1].header.end_offset
    return result


def last_epoch(log: Log) -> Epoch:
    """Return the epoch of the last record, as a node learns it when it starts."""
    return LogView(start=log.start, end_offset=log.end_offset, epochs=log.epochs).last_epoch


def found_end_of_data(log: Log, *, start_offset: Offset, max_records: int, end_offset: Offset) -> Offset:
    """Return what `end_of_data` returns after its last piece."""
    pieces = end_of_data(log, start_offset=start_offset, max_records=max_records, end_offset=end_offset)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return Offset(end.value)


def dice(seed: object) -> Draw:
    """Return a reproducible draw(n)."""
    return random.Random(str(seed)).randrange


def crash_at_every_call(
    prepare: Callable[[MemoryFiles], object], act: Callable[[MemoryFiles], object]
) -> Iterator[tuple[str, MemoryFiles]]:
    """Yield the machine after a crash at each changing call of `act`, and with each outcome for unflushed bytes.

    Args:
        prepare: runs before, without a crash, on a new machine.
        act: is interrupted by the crash.

    Yields:
        A name for the case, and the machine, running again. At the end, cases in which `act` completed.
    """
    nth = 0
    finished = False
    while not finished:
        nth += 1
        for seed in (None, *CRASH_SEEDS):
            files = MemoryFiles()
            prepare(files)
            files.cut_power_before(nth)
            try:
                act(files)
                finished = True
            except PowerCutError:
                pass
            files.crash(None if seed is None else dice((nth, seed)))
            yield f"call {nth}{' (none, it finished)' if finished else ''}, dice {seed}", files
    assert nth > 1, "nothing was disturbed"


def check_indexes(files: Files) -> int:
    """Check all index files as kafka-dump-log does; return how many entries they have.

    Source: Kafka DumpLogSegments.dumpIndex, dumpTimeIndex.
    """
    entries = 0
    names = files.names_in(DIRECTORY)
    for stem in (name.removesuffix(".log") for name in names if name.endswith(".log")):
        data = files.read(f"{DIRECTORY}/{stem}.log")
        if f"{stem}.index" in names:
            index = files.read(f"{DIRECTORY}/{stem}.index")
            last = -1
            for relative, position in OFFSET_ENTRY.iter_unpack(index):
                assert read_header(data, position).last_offset == int(stem) + relative > last
                last = int(stem) + relative
                entries += 1
        if f"{stem}.timeindex" in names:
            largest = {header.last_offset: header.max_timestamp_ms for header in _headers(data)}
            previous_ms = -1
            for timestamp_ms, relative in TIME_ENTRY.iter_unpack(files.read(f"{DIRECTORY}/{stem}.timeindex")):
                assert largest[Offset(int(stem) + relative)] == timestamp_ms > previous_ms
                previous_ms = timestamp_ms
                entries += 1
    return entries


def _headers(data: bytes) -> list[BatchHeader]:
    """Like kafka-dump-log this continues after a wrong checksum."""
    headers: list[BatchHeader] = []
    position = 0
    while position < len(data):
        headers.append(read_header(data, position))
        position += headers[-1].size_bytes
    return headers
