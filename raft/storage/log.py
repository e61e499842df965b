"""The log of one partition: segments, epoch checkpoint and recovery point on the disk, the newest bytes in memory.

Threads: one thread at a time opens, appends, truncates, reads, searches and closes. `flush` may run on another thread
while the first appends, reads or searches, but not while it truncates or closes. `flush` first reads the end offset
that it will report and then takes the last segment; an append creates a new segment only after the old one is flushed.
So everything below that end offset is in the segment that `flush` takes, or is on the disk already.

An error of a write or flush is final (LOG-17): what is on the disk is unknown then, so every later write or flush
raises an error and the node stops.

Source: rules LOG-5, LOG-6, LOG-10 to LOG-14, LOG-17; Kafka UnifiedLog, KafkaRaftLog.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from raft.defaults import SEGMENT_BYTES
from raft.epoch_cache import EpochCache
from raft.errors import StorageError
from raft.records.header import with_base_offset_and_epoch
from raft.records.stored_header import StoredHeader, read_stored_header
from raft.storage.batch_file import BatchFile
from raft.storage.compacted_records import CompactedRecords
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, mend_epochs, write_epochs
from raft.storage.files import Files, join
from raft.storage.log_files import LogFiles
from raft.storage.recovery import Recovery
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import LOG_SUFFIX, Segment
from raft.storage.tail import Tail
from raft.storage.timestamps import TimestampOffset, first_at_or_after, first_of_largest
from raft.transactions import NO_TRANSACTIONS, AbortedFinder, AbortedTransaction, SnapshotSummary
from raft.types import LOG_BEGIN, Batch, BatchHeader, Epoch, EpochStart, Offset, OffsetAndEpoch

_LARGEST_SEGMENT_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Sizes of a log.

    Fields:
        serves_snapshot: whether readers see the records of the snapshot at the start of the log, before the log.
        segment_bytes: size at which a new segment is begun; below 2 GiB, because an index has positions as int32.
        tail_bytes: how many of the newest bytes stay in memory.
    """

    serves_snapshot: bool = False
    segment_bytes: int = SEGMENT_BYTES
    tail_bytes: int = 4 << 20


class Log:
    """An open log; `open` opens one. Its offsets have no gaps, and its epochs never fall."""

    def __init__(
        self,
        files: Files,
        directory: str,
        config: LogConfig,
        recovery_point: RecoveryPoint,
        start: OffsetAndEpoch,
        files_of_log: LogFiles,
        end_offset: Offset,
        epochs: EpochCache,
    ) -> None:
        self._files = files
        self._directory = directory
        self._config = config
        self._recovery_point = recovery_point
        self._start = start
        self._parts = files_of_log
        self._end_offset = end_offset
        self._epochs = epochs
        self._epochs_on_disk = epochs
        self._tail = Tail(config.tail_bytes)
        self._durable_end_offset = end_offset
        self._failure: StorageError | None = None

    @classmethod
    def open(
        cls,
        files: Files,
        directory: str,
        config: LogConfig,
        recovery_point: RecoveryPoint,
        on_batch: Callable[[BatchHeader], object] | None = None,
        *,
        snapshot: SnapshotSummary | None = None,
        compacted: CompactedRecords | None = None,
    ) -> Log:
        """Read the whole log, repair what a crash left, and return the log, which is on the disk up to its end.

        Args:
            files: where the log is.
            directory: the partition's folder, which exists.
            config: sizes.
            recovery_point: of this partition.
            on_batch: called with the header of every batch, in order, so the caller need not read the log again.
            snapshot: the one that replaces what was before the log; None for a log that begins at offset 0.
            compacted: the records of that snapshot, if readers are to see them; None if not.

        Raises:
            CorruptBatchError: records that were flushed are damaged or missing; names file and byte.
            StorageError: the disk returned an error.
        """
        assert 0 < config.segment_bytes <= _LARGEST_SEGMENT_BYTES, f"segments of {config.segment_bytes} bytes"
        start = LOG_BEGIN if snapshot is None else snapshot.end
        epochs = EpochCache(() if snapshot is None else snapshot.epochs)
        aborts = AbortedFinder(NO_TRANSACTIONS if snapshot is None else snapshot.producers.transactions)

        def note(header: BatchHeader) -> AbortedTransaction | None:
            nonlocal epochs
            epochs = _with_epoch_of(header, epochs)
            if on_batch is not None:
                on_batch(header)
            return aborts.appended(header)

        if start.offset > 0 and not files.exists(join(directory, f"{start.offset:020d}{LOG_SUFFIX}")):
            # A crash came while a snapshot replaced the log.
            recovery_point.retreat(start.offset)
        recovery = Recovery(files, directory, start=start, recovery_point=recovery_point.offset, on_batch=note)
        segments, end_offset = recovery.open_segments()
        log = cls(files, directory, config, recovery_point, start, LogFiles(segments, compacted), end_offset, epochs)
        mend_epochs(files, join(directory, EPOCH_CHECKPOINT_NAME), epochs.entries)
        return log

    @property
    def start(self) -> OffsetAndEpoch:
        """The first offset of the log, and the epoch of the record before it."""
        return self._start

    @property
    def start_offset(self) -> Offset:
        """Offset of the first record; in an empty log, of the next record."""
        return self._start.offset

    @property
    def compacted(self) -> CompactedRecords | None:
        """The records of the snapshot at the start, which readers see before the first segment; None for none."""
        return self._parts.compacted

    @compacted.setter
    def compacted(self, compacted: CompactedRecords | None) -> None:
        self._parts = LogFiles(self._parts.segments, compacted)

    @property
    def readable_from(self) -> Offset:
        """The first offset that a reader may ask for: 0 if compacted records stand before the log."""
        return self.start_offset if self.compacted is None else Offset(0)

    @property
    def first_offset(self) -> Offset:
        """Offset of the first record that a reader sees; in an empty log, of the next record."""
        return self.start_offset if self.compacted is None else self.compacted.first_offset

    @property
    def segment_bases(self) -> tuple[Offset, ...]:
        """The offsets at which the segments begin, in order."""
        return tuple(segment.base_offset for segment in self._parts.segments)

    def size_bytes(self, start_offset: Offset = Offset(0)) -> int:
        """Return the size of all segments that begin at `start_offset` or later."""
        return sum(segment.size_bytes for segment in self._parts.segments if segment.base_offset >= start_offset)

    @property
    def end_offset(self) -> Offset:
        """Offset of the next record."""
        return self._end_offset

    @property
    def durable_end_offset(self) -> Offset:
        """Everything below was on the disk at the end of the last flush."""
        return self._durable_end_offset

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The epochs with records and their start offsets, in order."""
        return self._epochs.entries

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return len(self._parts.segments)

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> None:
        """Write batches at the end. They can be read at once; they are on the disk after the next `flush`.

        Args:
            batches: in order, without gaps, from `end_offset` on. Offset and epoch of their headers are written into
                their bytes.
            aborted: the transactions that these batches abort.

        Raises:
            StorageError: the disk returned an error, now or before.
        """
        with self._one_failure_is_final():
            run: list[Batch] = []
            run_bytes = 0
            not_noted = deque(aborted)
            for batch in batches:
                header = batch.header
                if not self._parts.last.has_room_for(
                    header, waiting_bytes=run_bytes, segment_bytes=self._config.segment_bytes
                ):
                    self._write(run)
                    self._note_aborted(not_noted)
                    self._roll()
                    run, run_bytes = [], 0
                run.append(batch)
                run_bytes += header.size_bytes
            self._write(run)
            self._note_aborted(not_noted)

    def truncate(self, end_offset: Offset) -> None:
        """Remove everything from `end_offset` on, and return when that is done on the disk.

        Args:
            end_offset: the new end: the start of a batch, or the present end.

        Raises:
            StorageError: the disk returned an error, now or before.
        """
        assert self._start.offset <= end_offset <= self._end_offset, f"{end_offset} lies outside the log"
        if end_offset == self._end_offset:
            return
        with self._one_failure_is_final():
            # New records will get the removed offsets. They are not flushed yet, so the recovery point must be lower
            # before the first of them is written.
            self._recovery_point.retreat(end_offset)
            self._remove_segments_behind(end_offset)
            self._parts.last.truncate(end_offset)
            self._tail.truncate(end_offset)
            self._end_offset = end_offset
            self._durable_end_offset = min(self._durable_end_offset, end_offset)
            self._epochs = self._epochs.truncated(end_offset)
            self._store_epochs(self._epochs)

    def restart_at(self, snapshot: SnapshotSummary, compacted: CompactedRecords | None = None) -> None:
        """Remove all records and let the log begin at the end of a snapshot; return when that is done on the disk.

        Args:
            snapshot: it is on the disk; after a crash during this call, opening the log completes it.
            compacted: see `open`.

        Raises:
            StorageError: the disk returned an error, now or before.
        """
        with self._one_failure_is_final():
            start = snapshot.end
            self._recovery_point.retreat(start.offset)
            for segment in reversed(self._parts.segments):
                segment.remove()
            self._parts = LogFiles([self._new_segment(start.offset)], compacted)
            self._tail = Tail(self._config.tail_bytes)
            self._start = start
            self._end_offset = self._durable_end_offset = start.offset
            self._epochs = EpochCache(snapshot.epochs)
            self._store_epochs(self._epochs)

    def roll(self) -> None:
        """Begin a new segment at the end of the log, unless the last one is empty.

        Raises:
            StorageError: the disk returned an error, now or before.
        """
        with self._one_failure_is_final():
            if self._parts.last.size_bytes:
                self._roll()

    def cut(self, start: OffsetAndEpoch, compacted: CompactedRecords | None = None) -> None:
        """Remove the segments before an offset: a snapshot on the disk replaces them.

        After a crash during this call the segments that are left begin at the end of no snapshot, and opening the log
        removes the rest (LOG-15). The epochs stay: readers ask for those of records in the snapshot.

        Args:
            start: where a segment begins; everything before is committed.
            compacted: the records of the snapshot, if readers are to see them; None if not.

        Raises:
            StorageError: the disk returned an error, now or before.
        """
        assert start.offset in self.segment_bases, f"no segment begins at {start}"
        with self._one_failure_is_final():
            segments = self._parts.segments
            kept = self.segment_bases.index(start.offset)
            self._parts = LogFiles(segments[kept:], compacted)
            self._start = start
            # The oldest comes first, so that no segment is missing between two others.
            for segment in segments[:kept]:
                segment.remove()
            self._files.sync_directory(self._directory)

    def read(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset) -> bytes:
        """Return whole batches from the one that holds `start_offset` on, perhaps not all that there are.

        Args:
            start_offset: no lower than the log's start.
            max_bytes: most to return; one batch is returned even if it is larger.
            end_offset: no batch that ends after this is returned.

        Returns:
            b"" if there is nothing between the two offsets. The first batch may begin before `start_offset`.

        Raises:
            CorruptBatchError: a file is damaged; names file and byte.
        """
        assert start_offset >= self.readable_from, f"{start_offset} lies before the log"
        pieces = self.pieces(start_offset, max_bytes=max_bytes, end_offset=end_offset, piece_bytes=sys.maxsize)
        return next(pieces, b"")

    def pieces(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset, piece_bytes: int) -> Iterator[bytes]:
        """Yield what `read` returns in pieces, so that the thread can do other work between them.

        Args:
            start_offset: see `read`.
            max_bytes: see `read`.
            end_offset: see `read`; everything below is committed.
            piece_bytes: most bytes of a piece, which may end within a batch.

        Raises:
            CorruptBatchError: while iterating; see `read`.
        """
        end_offset = min(end_offset, self._end_offset)
        if start_offset < self.readable_from or start_offset >= end_offset:
            return
        # The tail may have records that a snapshot has replaced: the transactions among them are not indexed any more.
        if start_offset >= self._start.offset:
            recent = self._tail.read(start_offset, max_bytes=max_bytes, end_offset=end_offset)
            if recent is not None:
                yield recent
                return
        start = self._start
        pieces = self._parts.pieces(start_offset, max_bytes=max_bytes, end_offset=end_offset, piece_bytes=piece_bytes)
        while self._start == start and (piece := next(pieces, None)):  # else a snapshot has replaced the files
            yield piece

    def header_of(self, offset: Offset) -> StoredHeader:
        """Return the header of the batch that holds `offset`, without reading the rest of the batch.

        Raises:
            CorruptBatchError: a file is damaged; names file and byte.
        """
        assert self._start.offset <= offset < self._end_offset, f"{offset} lies outside the log"
        recent = self._tail.header_of(offset)
        return read_stored_header(recent) if recent is not None else self._parts.header_of(offset)

    def files_from(self, offset: Offset) -> list[BatchFile]:
        """Return the compacted records and the segments from the one that holds `offset` on."""
        return self._parts.files_from(offset)

    def flush(self) -> Offset:
        """Return when everything that was appended before the call is on the disk.

        Returns:
            The end offset of what is on the disk.

        Raises:
            StorageError: the disk returned an error, now or before. The flush is not tried again.
        """
        with self._one_failure_is_final():
            # The order of these two lines matters: see the paragraph on threads in the module's docstring.
            end_offset = self._end_offset
            segment = self._parts.last
            epochs = self._epochs
            segment.flush()
            if epochs is not self._epochs_on_disk:
                self._store_epochs(epochs)
            self._durable_end_offset = end_offset
            return end_offset

    def find_offset_by_timestamp(self, timestamp_ms: int, end_offset: Offset) -> TimestampOffset | None:
        """Return the first record below `end_offset` whose timestamp is this or later, or None."""
        return first_at_or_after(self._parts.everything, timestamp_ms, end_offset)

    def find_largest_timestamp(self, end_offset: Offset) -> TimestampOffset | None:
        """Return the first record with the largest timestamp below `end_offset`, or None."""
        return first_of_largest(self._parts.everything, end_offset)

    def close(self) -> None:
        """Flush and close all files. After an error the files are closed without a flush.

        Raises:
            StorageError: the disk returned an error.
        """
        try:
            if self._failure is None:
                self._recovery_point.advance(self.flush())
                self._parts.last.indexes.seal()
        finally:
            for segment in self._parts.segments:
                segment.close()

    def _write(self, run: Sequence[Batch]) -> None:
        next_offset, epochs = self._end_offset, self._epochs
        pieces: list[bytes] = []
        for batch in run:
            header = batch.header
            assert header.base_offset == next_offset, f"batch at offset {header.base_offset}, expected {next_offset}"
            assert header.size_bytes == len(batch.payload), f"{len(batch.payload)} bytes, expected {header.size_bytes}"
            next_offset = header.end_offset
            epochs = _with_epoch_of(header, epochs)
            pieces.append(with_base_offset_and_epoch(batch.payload, header.base_offset, header.epoch))
        if pieces:
            data = b"".join(pieces)
            self._parts.last.append(data, [batch.header for batch in run])
            self._tail.append(self._end_offset, data)
            self._epochs = epochs
            # This comes last, because a flush on another thread reports everything below it.
            self._end_offset = next_offset

    def _note_aborted(self, aborted: deque[AbortedTransaction]) -> None:
        """Add the transactions whose marker is in the last segment to its index, before that is sealed."""
        noted = [aborted.popleft() for each in tuple(aborted) if each.last_offset < self._end_offset]
        self._parts.last.indexes.aborted.note(noted)

    def _roll(self) -> None:
        full = self._parts.last
        # It must be on the disk before the next segment exists, because a flush takes the last segment only.
        full.seal()
        self._recovery_point.advance(self._end_offset)
        full.indexes.seal()
        self._parts.segments.append(self._new_segment(self._end_offset))

    def _remove_segments_behind(self, end_offset: Offset) -> None:
        if self._parts.last.base_offset <= end_offset:
            return
        while self._parts.last.base_offset > end_offset:
            self._parts.segments.pop().remove()
        # This must be on the disk before the last segment is truncated. If a crash brought a removed segment back, the
        # log would seem to lack records in the middle, and the node would refuse to start.
        self._files.sync_directory(self._directory)

    def _new_segment(self, base_offset: Offset) -> Segment:
        segment = Segment(self._files, self._directory, base_offset, create=True)
        segment.indexes.attach()
        self._files.sync_directory(self._directory)
        return segment

    def _store_epochs(self, epochs: EpochCache) -> None:
        write_epochs(self._files, join(self._directory, EPOCH_CHECKPOINT_NAME), epochs.entries)
        self._epochs_on_disk = epochs

    @contextmanager
    def _one_failure_is_final(self) -> Iterator[None]:
        if self._failure is not None:
            raise StorageError(f"the log takes no writes after an error: {self._failure}") from self._failure
        try:
            yield
        except StorageError as error:
            self._failure = error
            raise


def _with_epoch_of(header: BatchHeader, epochs: EpochCache) -> EpochCache:
    last_epoch = epochs.last.epoch if epochs.last is not None else Epoch(0)
    assert header.epoch >= last_epoch, f"batch of epoch {header.epoch} after epoch {last_epoch}"
    return epochs.with_epoch(header.epoch, header.base_offset)
