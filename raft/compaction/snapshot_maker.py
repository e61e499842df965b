"""Makes one snapshot: what is kept of the snapshot before, and of the segments after it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter

from raft.compaction.batch_runs import Run, compressed, runs_of
from raft.compaction.compactor import Compactor
from raft.epoch_cache import EpochCache
from raft.errors import DecodeError, StorageError
from raft.records.batch import build_empty_batch
from raft.records.compression import Compression
from raft.records.header_fields import HeaderFields
from raft.snapshots import footer_batch, state_batches
from raft.storage.aborted_index import ABORTED_SUFFIX, read_aborted
from raft.storage.files import File, Files, join
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.storage.segment import LOG_SUFFIX
from raft.storage.snapshots import SnapshotFolder
from raft.storage.span_check import SpanCheck
from raft.storage.spans import end_offset_of
from raft.transactions import AbortedTransaction, SnapshotSummary
from raft.types import EpochStart, Offset, OffsetAndEpoch

_WRITE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotOrder:
    """What to make.

    Fields:
        base: the newest snapshot, which has the records before its end; None if there is none.
        end: where the new snapshot ends: the base offset of a segment, at which there is a producer snapshot.
        segments: base offsets of the segments between the two.
        epochs: all epochs up to the end.
        keeps_records: whether the newest record of each key is kept, or none (cleanup.policy).
        is_urgent: whether records are refused until it is made, because the disk is full.
    """

    base: OffsetAndEpoch | None
    end: OffsetAndEpoch
    segments: tuple[Offset, ...]
    epochs: tuple[EpochStart, ...]
    keeps_records: bool
    is_urgent: bool = False


def make_snapshot(
    files: Files, directory: str, order: SnapshotOrder, compactor: Compactor
) -> Generator[None, None, None]:
    """Write a snapshot, check it, and return when it is on the disk under the name of one that is being made.

    It yields after each mebibyte or so.

    Args:
        files: where the log is.
        directory: the partition's folder.
        order: what to make.
        compactor: empty.

    Raises:
        StorageError: the disk returned an error, a file is missing, or a batch is damaged.
    """
    state = _state(files, directory, order)
    folder = SnapshotFolder(files, directory)
    bases = order.segments if order.keeps_records else ()
    segments = _Segments(files, directory, bases, EpochCache(order.epochs))
    try:
        for run in segments.runs():
            compactor.note(run.batches)
            yield
        output = _Output(folder.create(order.end), compactor)
        try:
            for batch in state_batches(state):
                output.write(batch)
            if order.keeps_records:
                if order.base is not None:
                    for run in _runs_of_snapshot(folder, order.base):
                        output.retain(run)
                        yield
                for run in segments.runs():
                    output.retain(run)
                    yield
                output.finish_batch()
                last = Offset(order.end.offset - 1)
                if output.last_offset < last:
                    # With it, a reader that finds no more records gets to the end of the snapshot.
                    output.write(build_empty_batch(base_offset=last, last_offset_delta=0, epoch=order.end.epoch))
            output.write(footer_batch(order.end.epoch))
            output.close()
        except BaseException:
            output.abandon()
            raise
        for _ in folder.check_made(order.end):
            yield
    except StorageError:
        # What it takes is needed, if the disk is full.
        with suppress(StorageError):
            folder.remove_making(order.end)
        raise
    except DecodeError as error:
        raise StorageError(f"no snapshot is made of {files.path_of(directory)}: {error}") from error


def _state(files: Files, directory: str, order: SnapshotOrder) -> SnapshotSummary:
    producers = ProducerSnapshots(files, directory).at(order.end.offset)
    if producers is None:
        raise StorageError(f"{files.path_of(directory)} has no producer snapshot at offset {order.end.offset}")
    return SnapshotSummary(end=order.end, epochs=order.epochs, producers=producers)


def _runs_of_snapshot(folder: SnapshotFolder, snapshot: OffsetAndEpoch) -> Iterator[Run]:
    compacted = folder.compacted(snapshot)
    check = SpanCheck(has_gaps=True)
    return runs_of(compacted.read_at, compacted.start_position, compacted.size_bytes, lambda _: False, check)


class _Segments:
    """The segments, as they are on the disk. They do not change any more."""

    def __init__(self, files: Files, directory: str, base_offsets: Iterable[Offset], epochs: EpochCache) -> None:
        self._files = files
        self._epochs = epochs
        self._stems = {base_offset: join(directory, f"{base_offset:020d}") for base_offset in base_offsets}
        self._aborted: dict[int, list[AbortedTransaction]] = defaultdict(list)
        # A transaction may end after the snapshot. The names are in the order of the offsets.
        for name in files.names_in(directory):
            if name.endswith(ABORTED_SUFFIX):
                for each in read_aborted(files, join(directory, name)):
                    self._aborted[each.producer_id].append(each)

    def runs(self) -> Iterator[Run]:
        """Yield the data batches, without those of aborted transactions."""
        for base_offset, stem in self._stems.items():
            file = self._files.open(stem + LOG_SUFFIX)
            check = SpanCheck(epochs=self._epochs, next_offset=base_offset)
            try:
                yield from runs_of(file.read, 0, file.size_bytes, self._is_aborted, check)
            finally:
                file.close()

    def _is_aborted(self, header: HeaderFields) -> bool:
        transactions = self._aborted.get(header.producer_id, [])
        # One producer has one transaction at a time, so their markers are in the order of their first records.
        at = bisect_right(transactions, header.base_offset, key=attrgetter("first_offset")) - 1
        return at >= 0 and header.base_offset < transactions[at].last_offset


class _Output:
    """The file that is written.

    Args:
        file: empty.
        compactor: has noted all records.
    """

    def __init__(self, file: File, compactor: Compactor) -> None:
        self._file = file
        self._compactor = compactor
        self._codec = Compression.NONE
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self.last_offset = Offset(-1)
        """Of the last record that was written."""

    def write(self, batches: bytes) -> None:
        """Write whole batches."""
        self._waiting.append(batches)
        self._waiting_bytes += len(batches)
        if self._waiting_bytes >= _WRITE_BYTES:
            self._write_waiting()

    def retain(self, run: Run) -> None:
        """Write the records of these batches that are kept, compressed as they were."""
        if run.codec != self._codec:
            self.finish_batch()
            self._codec = run.codec
        self._write_records(self._compactor.retain(run.batches))

    def finish_batch(self) -> None:
        """Write the records that the compactor holds back."""
        self._write_records(self._compactor.finish())

    def close(self) -> None:
        """Return when everything is on the disk."""
        self._write_waiting()
        self._file.flush()
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _write_records(self, batches: bytes) -> None:
        if batches:
            self.last_offset = Offset(end_offset_of(batches) - 1)
            self.write(compressed(batches, self._codec) if self._codec else batches)

    def _write_waiting(self) -> None:
        self._file.append(b"".join(self._waiting))
        # Piece by piece, because the flushes of the log wait for a large one.
        self._file.flush()
        self._waiting, self._waiting_bytes = [], 0
