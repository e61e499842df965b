"""A log that begins with a snapshot of its own records, which readers see before the log (rules READ-7, LOG-15)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from raft.compaction import SnapshotOrder, make_snapshot
from raft.compaction.compactor import Compactor
from raft.epoch_cache import EpochCache
from raft.errors import StorageError
from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches
from raft.records.compression import Compression
from raft.records.header import read_header
from raft.records.record import Record
from raft.runtime.requests.batch_plan import plan_batch
from raft.storage.directory import ReplicaDirectory
from raft.storage.files import Files
from raft.storage.log_config import LogConfig
from raft.storage.recovery_point import RECOVERY_POINT_NAME
from raft.transactions import ProducerState
from raft.types import Batch, Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import crash_at_every_call, found_end_of_data
from tests.storage.test_directory import PARTITION, opened
from tests.storage.transactional import leader_change

SERVED = LogConfig(serves_snapshot=True, tail_bytes=200)


class Store:
    """A directory with its tables of writers, as a node has them.

    Args:
        files: where it is.
        config: of its log.
    """

    def __init__(self, files: Files, config: LogConfig = SERVED) -> None:
        self.files = files
        self.producers = ProducerState()
        self.directory: ReplicaDirectory = opened(files, config=config, producers=self.producers)
        self.log = self.directory.log

    def write(self, *keys: str, epoch: int = 1, compression: Compression = Compression.NONE) -> None:
        """Append a batch with a record for each key, whose value and time are its offset."""
        offset = self.log.end_offset
        records = [
            Record(key=key.encode(), value=b"%d" % (offset + at), timestamp_ms=offset + at)
            for at, key in enumerate(keys)
        ]
        payload = build_batch(records, base_offset=offset, epoch=Epoch(epoch), compression=compression)
        self.append(Batch(header=read_header(payload), payload=payload))

    def append(self, batch: Batch) -> None:
        """Append one batch."""
        self.producers.appended(batch.header)
        self.directory.append([batch])

    def roll(self) -> None:
        """Begin a segment, at which a snapshot can end."""
        self.directory.roll(self.producers.image(self.log.end_offset))

    def order(self, *, keeps_records: bool = True) -> SnapshotOrder:
        """Return the order for a snapshot at the last `roll`."""
        end, base = self.directory.rolled_at, self.directory.snapshots.newest()
        assert end is not None, "it was rolled"
        first = Offset(0) if base is None else base.offset
        epochs = EpochCache(self.log.epochs).truncated(end)
        return SnapshotOrder(
            base=base,
            end=OffsetAndEpoch(offset=end, epoch=epochs.epoch_before(end) or Epoch(0)),
            segments=tuple(each for each in self.log.segment_bases if first <= each < end),
            epochs=epochs.entries,
            keeps_records=keeps_records,
        )

    def snapshot(self, *, keeps_records: bool = True) -> OffsetAndEpoch:
        """Make a snapshot that ends with the log."""
        self.roll()
        order = self.order(keeps_records=keeps_records)
        for _ in make_snapshot(self.files, PARTITION, order, Compactor(now_ms=0, delete_retention_ms=1_000)):
            pass
        self.directory.finish_snapshot(order.end)
        return order.end

    def delete_before(self) -> OffsetAndEpoch:
        """Make a snapshot, and let the log begin at its end."""
        end = self.snapshot()
        self.directory.delete_before(end)
        return end

    def reopened(self) -> Store:
        """Close the directory and open it again."""
        self.directory.close()
        return Store(self.files)


def read(store: Store, start: int, *, end: int | None = None, max_bytes: int = 1 << 20) -> list[tuple[int, bytes]]:
    """Return offset and key of what one read returns."""
    end_offset = store.log.end_offset if end is None else Offset(end)
    data = store.log.read(Offset(start), max_bytes=max_bytes, end_offset=end_offset)
    return keys_in(list(read_batches(data)))


def keys_in(batches: Iterable[Batch]) -> list[tuple[int, bytes]]:
    return [(record.offset, record.key or b"") for batch in batches for record in read_records(batch.payload)]


def a_cut_store(files: Files) -> Store:
    """Offsets 0 to 7, of which 3, 5, 6 and 7 are the newest of their keys; then two more behind the snapshot."""
    store = Store(files)
    store.write("a", "b", "c")
    store.write("d", epoch=2)
    store.write("a", "a", epoch=2)
    store.write("b", "c", epoch=4)
    assert store.delete_before() == OffsetAndEpoch(offset=Offset(8), epoch=Epoch(4))
    store.write("d", "e", epoch=4)
    return store


HEAD = [(3, b"d"), (5, b"a"), (6, b"b"), (7, b"c")]
TAIL = [(8, b"d"), (9, b"e")]


@pytest.mark.rule("READ-7", "LOG-15")
@pytest.mark.parametrize("is_reopened", [False, True])
def test_reader_gets_the_records_of_the_snapshot_and_then_the_log(files: Files, is_reopened: bool) -> None:
    store = a_cut_store(files)
    if is_reopened:
        store = store.reopened()

    assert (store.log.start_offset, store.log.readable_from) == (8, 0)
    assert read(store, 0) == HEAD
    assert read(store, 4) == HEAD[1:] or read(store, 4) == HEAD
    assert read(store, 8) == TAIL
    assert not [name for name in files.names_in(PARTITION) if name.startswith(f"{0:020d}")]
    store.directory.close()


def test_reader_of_a_log_that_keeps_no_records_finds_nothing_before_it(files: Files) -> None:
    store = Store(files, LogConfig())
    store.write("a", "b")
    end = store.snapshot(keeps_records=False)
    store.directory.delete_before(end)
    store.write("c")

    assert (store.log.compacted, store.log.readable_from) == (None, 2)
    assert list(store.log.pieces(Offset(0), max_bytes=99, end_offset=Offset(3), piece_bytes=99)) == []
    assert read(store, 2) == [(2, b"c")]
    store.directory.close()


@pytest.mark.rule("SNAPSHOT-2")
def test_next_snapshot_is_made_from_the_one_before_and_the_segments_behind_it(files: Files) -> None:
    store = a_cut_store(files)

    store.delete_before()

    assert read(store, 0) == [(5, b"a"), (6, b"b"), (7, b"c"), (8, b"d"), (9, b"e")]
    assert [(start.epoch, start.start_offset) for start in store.log.epochs] == [(1, 0), (2, 3), (4, 6)]
    store.directory.close()


@pytest.mark.rule("SNAPSHOT-2")
def test_reader_gets_to_the_end_of_a_snapshot_whose_last_records_are_missing(files: Files) -> None:
    store = Store(files)
    store.write("a", "b")
    store.write("b")
    store.append(leader_change(3, epoch=2))
    store.delete_before()

    data = store.log.read(Offset(0), max_bytes=1 << 20, end_offset=store.log.end_offset)

    assert keys_in(list(read_batches(data))) == [(0, b"a"), (2, b"b")]
    assert list(read_batches(data))[-1].header.end_offset == store.log.start_offset == 4
    store.directory.close()


def test_records_are_compressed_as_they_were(files: Files) -> None:
    store = Store(files)
    store.write("a", "b")
    store.write("c", "d", compression=Compression.ZSTD)
    store.write("e")
    store.delete_before()

    data = store.log.read(Offset(0), max_bytes=1 << 20, end_offset=store.log.end_offset)

    codecs = [batch.payload[22] & 7 for batch in read_batches(data)]
    assert codecs == [Compression.NONE, Compression.ZSTD, Compression.NONE]
    assert keys_in(list(read_batches(data))) == [(at, key) for at, key in enumerate([b"a", b"b", b"c", b"d", b"e"])]
    store.directory.close()


@pytest.mark.rule("READ-7", "CLIENT-5")
@pytest.mark.parametrize(
    ("timestamp_ms", "offset"),
    [pytest.param(0, 3, id="the first"), pytest.param(6, 6, id="in the snapshot"), pytest.param(9, 9, id="in the log")],
)
def test_record_is_found_by_its_time_in_the_snapshot_too(files: Files, timestamp_ms: int, offset: int) -> None:
    store = a_cut_store(files)

    found = store.log.find_offset_by_timestamp(timestamp_ms, store.log.end_offset)

    assert found is not None
    assert found.offset == offset
    for end, newest in ((8, 7), (6, 5)):
        largest = store.log.find_largest_timestamp(Offset(end))
        assert largest is not None
        assert largest.offset == newest
    store.directory.close()


@pytest.mark.rule("READ-7", "CLIENT-15")
@pytest.mark.parametrize(
    ("start", "most", "end"),
    [
        pytest.param(0, 1, 4, id="one"),
        pytest.param(0, 2, 6, id="two, with a gap before the second"),
        pytest.param(0, 4, 8, id="all of the snapshot"),
        pytest.param(0, 5, 9, id="one of the log"),
        pytest.param(4, 2, 7, id="from a gap"),
        pytest.param(0, 99, 10, id="all"),
    ],
)
def test_rows_of_a_snapshot_are_counted_and_not_its_offsets(files: Files, start: int, most: int, end: int) -> None:
    store = a_cut_store(files)

    found = found_end_of_data(store.log, start_offset=Offset(start), max_records=most, end_offset=store.log.end_offset)

    assert found == end
    store.directory.close()


@pytest.mark.rule("READ-7", "CLIENT-15")
def test_plan_names_epochs_and_no_checksums_where_a_snapshot_replaces_the_batches(files: Files) -> None:
    store = a_cut_store(files)

    plan = planned(store, BatchPlanRequest(start_offset=4, max_records=-1, max_bytes=1, end_offset=-1))

    assert plan.log_start_offset == 0
    assert (plan.start.offset, plan.start.epoch, plan.start.checksum) == (4, 2, -1)
    assert 4 < plan.end.offset <= 8
    last = planned(store, BatchPlanRequest(start_offset=9, max_records=-1, max_bytes=-1, end_offset=-1))
    assert last.start.checksum >= 0
    store.directory.close()


def planned(store: Store, request: BatchPlanRequest) -> BatchPlan:
    pieces = plan_batch(store.log, request, store.log.end_offset)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            plan: BatchPlan = end.value
            return plan


@pytest.mark.rule("SNAPSHOT-1")
def test_snapshot_is_not_made_from_a_damaged_segment() -> None:
    files = MemoryFiles()
    store = Store(files)
    store.write("a", "b")
    store.roll()
    order = store.order()
    files.flip_bit(f"{PARTITION}/{0:020d}.log", 70)

    with pytest.raises(StorageError, match=r"no snapshot is made of .*checksum"):
        for _ in make_snapshot(files, PARTITION, order, Compactor(now_ms=0, delete_retention_ms=0)):
            pass
    assert store.directory.snapshots.newest() is None


def test_lost_index_of_a_snapshot_is_made_again(files: Files) -> None:
    store = a_cut_store(files)
    store.directory.close()
    (index,) = [name for name in files.names_in(PARTITION) if name.endswith(".offsets")]
    files.remove(f"{PARTITION}/{index}")

    store = Store(files)

    assert read(store, 0) == HEAD
    assert files.exists(f"{PARTITION}/{index}")
    store.directory.close()


@pytest.mark.rule("LOG-15", "SNAPSHOT-1", "SNAPSHOT-3")
def test_log_is_whole_when_the_power_fails_at_any_call_while_it_is_compacted() -> None:
    def prepare(files: MemoryFiles) -> None:
        store = Store(files)
        store.write("a", "b", "c")
        store.delete_before()
        store.write("d", "a")
        store.directory.close()

    def act(files: MemoryFiles) -> None:
        store = Store(files)
        store.delete_before()
        store.write("e")
        store.directory.close()

    before, after = (
        [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d"), (4, b"a")],
        [(1, b"b"), (2, b"c"), (3, b"d"), (4, b"a")],
    )
    starts = set()
    for case, files in crash_at_every_call(prepare, act):
        store = Store(files)
        found: list[tuple[int, bytes]] = []
        while (position := found[-1][0] + 1 if found else 0) < store.log.end_offset:
            found += [each for each in read(store, position) if each[0] >= position]
        assert [each for each in found if each[0] < 5] in (before, after), case
        starts.add(store.log.start_offset)
        store.directory.close()

    assert starts == {3, 5}


@pytest.mark.rule("READ-7", "SNAPSHOT-4")
@pytest.mark.parametrize("serves_snapshot", [pytest.param(True, id="compact"), pytest.param(False, id="delete")])
def test_snapshot_that_was_downloaded_shows_its_records_as_configured(serves_snapshot: bool) -> None:
    leaders, followers = MemoryFiles(), MemoryFiles()
    store = a_cut_store(leaders)
    follower = Store(followers, LogConfig(serves_snapshot=serves_snapshot))
    end = store.log.start

    follower.directory.store_snapshot_piece(
        end, 0, leaders.read(f"{PARTITION}/{end.offset:020d}-{end.epoch:010d}.checkpoint")
    )
    contents = follower.directory.check_snapshot(end)

    assert contents is not None
    assert contents.shows_records == serves_snapshot
    follower.directory.install_snapshot(contents)
    assert follower.log.readable_from == (0 if serves_snapshot else 8)


@pytest.mark.rule("LOG-15")
@pytest.mark.parametrize("serves_snapshot", [pytest.param(True, id="compact"), pytest.param(False, id="delete")])
def test_log_begins_with_the_snapshot_when_its_end_before_that_is_gone(serves_snapshot: bool) -> None:
    files = MemoryFiles()
    store = Store(files, LogConfig(serves_snapshot=serves_snapshot))
    store.write("a", "b")
    store.write("a")
    end = store.snapshot(keeps_records=serves_snapshot)
    store.directory.close()
    segment = f"{PARTITION}/{0:020d}.log"
    files.put(segment, files.read(segment)[:-10])
    files.remove(f"{PARTITION}/{RECOVERY_POINT_NAME}")
    files.remove(f"{PARTITION}/{end.offset:020d}.log")

    store = Store(files, LogConfig(serves_snapshot=serves_snapshot))

    assert (store.log.start, store.log.end_offset) == (end, end.offset)
    assert store.producers.image(end.offset).end_offset == end.offset
    if serves_snapshot:
        assert read(store, 0) == [(1, b"b"), (2, b"a")]
