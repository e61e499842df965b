"""The log of one partition: segments, epoch checkpoint and recovery point on the disk, the newest bytes in memory.

Threads: one thread at a time opens, appends, truncates, reads, searches and closes. `flush` may run on another thread
while the first appends, reads or searches, but not while it truncates or closes. `flush` first reads the end offset
that it will report and then takes the last segment; an append creates a new segment only after the old one is flushed.
So everything below that end offset is in the segment that `flush` takes, or is on the disk already.

An error of a write or flush is final (LOG-17): what is on the disk is unknown then, so every later write or flush
raises an error and the node stops. A write for which the disk has no room is not: it is undone, and may be repeated
(LOG-27).

Source: rules LOG-5, LOG-6, LOG-10 to LOG-14, LOG-17; Kafka UnifiedLog, KafkaRaftLog.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence

from raft.epoch_cache import EpochCache
from raft.errors import DiskFullError
from raft.records.header_fields import HeaderFields, read_fields
from raft.storage.append_run import joined
from raft.storage.batch_file import BatchFile
from raft.storage.compacted_records import CompactedRecords
from raft.storage.files import Files
from raft.storage.final_failure import FinalFailure
from raft.storage.log_config import LogConfig
from raft.storage.opened_log import OpenedLog, Replay, open_log_files
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import Segment
from raft.storage.stored_epochs import StoredEpochs
from raft.storage.tail import Tail
from raft.storage.timestamps import TimestampOffset, first_at_or_after, first_of_largest
from raft.transactions import AbortedTransaction, SnapshotSummary
from raft.types import Batch, EpochStart, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)


class Log:
    """An open log; `open` opens one. Its offsets have no gaps, and its epochs never fall.

    Each method that writes raises a StorageError if the disk returned an error, now or before, and a DiskFullError if
    the disk has no room: it then has done nothing, unless it says otherwise, and may be called again.
    """

    def __init__(
        self, files: Files, directory: str, config: LogConfig, recovery_point: RecoveryPoint, opened: OpenedLog
    ) -> None:
        self._config = config
        self._recovery_point = recovery_point
        self._start = opened.start
        self._parts = opened.files
        self._trusted = opened.trusted
        self._end_offset = self._durable_end_offset = opened.end_offset
        self._epochs = StoredEpochs(files, directory, opened.epochs, is_late=opened.are_epochs_late)
        self._tail = Tail(config.tail_bytes)
        self._failure = FinalFailure()
        self._not_noted: list[AbortedTransaction] = []  # Those of the present append that are not in the index yet.

    @classmethod
    def open(
        cls,
        files: Files,
        directory: str,
        config: LogConfig,
        recovery_point: RecoveryPoint,
        replay: Replay | None = None,
        *,
        snapshot: SnapshotSummary | None = None,
        compacted: CompactedRecords | None = None,
    ) -> Log:
        """Open the files, repair what a crash left, and return the log, which is on the disk up to its end.

        Args:
            files: where the log is.
            directory: the partition's folder, which exists.
            config: sizes.
            recovery_point: of this partition.
            replay: who wants the headers of the batches.
            snapshot: the one that replaces what was before the log; None for a log that begins at offset 0.
            compacted: the records of that snapshot, if readers are to see them; None if not.

        Raises:
            CorruptBatchError: records that were flushed are damaged or missing; names file and byte.
            StorageError: the disk returned an error.
        """
        opened = open_log_files(
            files,
            directory,
            recovery_point,
            snapshot=snapshot,
            compacted=compacted,
            replay=replay or Replay(restore=lambda _at_most: None, on_batch=lambda _header: None),
        )
        return cls(files, directory, config, recovery_point, opened)

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
        self._parts.compacted = compacted

    @property
    def readable_from(self) -> Offset:
        """The first offset that a reader may ask for: 0 if compacted records stand before the log."""
        return self.start_offset if self.compacted is None else Offset(0)

    @property
    def segment_bases(self) -> tuple[Offset, ...]:
        """The offsets at which the segments begin, in order."""
        return self._parts.bases

    def size_bytes(self, start_offset: Offset = Offset(0)) -> int:
        """Return the size of all segments that begin at `start_offset` or later."""
        return self._parts.size_bytes(start_offset)

    @property
    def end_offset(self) -> Offset:
        """Offset of the next record."""
        return self._end_offset

    @property
    def end(self) -> OffsetAndEpoch:
        """The end of the log, and the epoch of the record before it."""
        last = self._epochs.cache.last
        return OffsetAndEpoch(epoch=self._start.epoch if last is None else last.epoch, offset=self._end_offset)

    @property
    def durable_end_offset(self) -> Offset:
        """Everything below was on the disk at the end of the last flush."""
        return self._durable_end_offset

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The epochs with records and their start offsets, in order."""
        return self._epochs.cache.entries

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> bool:
        """Write batches at the end. They can be read at once; they are on the disk after the next `flush`.

        Args:
            batches: in order, without gaps, from `end_offset` on. Offset and epoch of their headers are written into
                their bytes.
            aborted: the transactions that these batches abort.

        Returns:
            Whether a new segment was begun.

        Raises:
            DiskFullError: there is no room. What lies below `end_offset` then is written; the call may be repeated with
                the other batches, and without the transactions.
        """
        with self._failure.watched():
            last_before = self._parts.last
            run: list[Batch] = []
            run_bytes = 0
            self._not_noted.extend(aborted)
            self._note_aborted()
            for batch in batches:
                header = batch.header
                if not self._parts.last.has_room_for(
                    header, waiting_bytes=run_bytes, segment_bytes=self._config.segment_bytes
                ):
                    self._write(run)
                    self._note_aborted()
                    self._roll()
                    run, run_bytes = [], 0
                run.append(batch)
                run_bytes += header.size_bytes
            self._write(run)
            self._note_aborted()
        return self._parts.last is not last_before

    def truncate(self, end_offset: Offset) -> None:
        """Remove everything from `end_offset` on, and return when that is done on the disk.

        Args:
            end_offset: the new end: the start of a batch, or the present end.
        """
        assert self._start.offset <= end_offset <= self._end_offset, f"{end_offset} lies outside the log"
        if end_offset == self._end_offset:
            return
        with self._failure.watched():
            # New records will get the removed offsets. They are not flushed yet, so the recovery point must be lower
            # before the first of them is written.
            self._recovery_point.retreat(end_offset)
            self._trusted.retreat(end_offset)
            # Without room for the epochs the log stays as it is.
            epochs = self._epochs.cache.truncated(end_offset)
            self._epochs.store(epochs)
            self._parts.remove_behind(end_offset)
            self._parts.last.truncate(end_offset)
            self._tail.truncate(end_offset)
            self._end_offset = end_offset
            self._durable_end_offset = min(self._durable_end_offset, end_offset)
            self._epochs.cache = epochs

    def restart_at(self, snapshot: SnapshotSummary, compacted: CompactedRecords | None = None) -> None:
        """Remove all records and let the log begin at the end of a snapshot; return when that is done on the disk.

        Args:
            snapshot: it is on the disk; after a crash during this call, opening the log completes it.
            compacted: see `open`.
        """
        with self._failure.watched():
            start = snapshot.end
            self._recovery_point.retreat(start.offset)
            self._trusted.retreat(Offset(0))
            # Without room for the epochs the log stays as it is.
            epochs = EpochCache(snapshot.epochs)
            self._epochs.store(epochs)
            self._parts.restart_at(start.offset, compacted)
            self._tail = Tail(self._config.tail_bytes)
            self._start = start
            self._end_offset = self._durable_end_offset = start.offset
            self._epochs.cache = epochs

    def overwrite(self, segment: Segment, position: int, data: bytes) -> None:
        """See `Segment.overwrite`."""
        with self._failure.watched():
            segment.overwrite(position, data)

    def roll(self) -> None:
        """Begin a new segment at the end of the log, unless the last one is empty."""
        with self._failure.watched():
            if self._parts.last.size_bytes:
                self._roll()

    def delete_before(self, start: OffsetAndEpoch, compacted: CompactedRecords | None = None) -> None:
        """Remove the segments before an offset: a snapshot on the disk replaces them.

        After a crash during this call the segments that are left begin at the end of no snapshot, and opening the log
        removes the rest (LOG-15). The epochs stay: readers ask for those of records in the snapshot.

        Args:
            start: where a segment begins; everything before is committed.
            compacted: the records of the snapshot, if readers are to see them; None if not.
        """
        assert start.offset in self.segment_bases, f"no segment begins at {start}"
        with self._failure.watched():
            self._start = start
            self._parts.remove_before(start.offset, compacted)

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
        pieces = self._parts.pieces(
            start_offset, self._epochs.cache, max_bytes=max_bytes, end_offset=end_offset, piece_bytes=piece_bytes
        )
        while self._start == start and (piece := next(pieces, None)):  # else a snapshot has replaced the files
            yield piece

    def header_of(self, offset: Offset) -> HeaderFields:
        """Return the header of the batch that holds `offset`; a batch that is read from a file is checked.

        Raises:
            CorruptBatchError: a file is damaged; names file and byte.
        """
        assert self._start.offset <= offset < self._end_offset, f"{offset} lies outside the log"
        recent = self._tail.header_of(offset)
        return read_fields(recent) if recent is not None else self._parts.header_of(offset)

    def files_from(self, offset: Offset) -> list[BatchFile]:
        """Return the compacted records and the segments from the one that holds `offset` on."""
        return self._parts.files_from(offset)

    def segments_from(self, offset: Offset) -> list[Segment]:
        """Return the segments from the one that holds `offset` on."""
        return self._parts.segments_from(offset)

    def flush(self) -> Offset:
        """Flush all that was appended before the call, and return its end offset. A failed flush is not tried again."""
        with self._failure.watched():
            # The order of these two lines matters: see the paragraph on threads in the module's docstring.
            end_offset = self._end_offset
            segment = self._parts.last
            epochs = self._epochs.cache
            segment.flush()
            self._epochs.store_if_new(epochs)
            self._durable_end_offset = end_offset
            return end_offset

    def find_offset_by_timestamp(self, timestamp_ms: int, end_offset: Offset) -> TimestampOffset | None:
        """Return the first record below `end_offset` whose timestamp is this or later, or None."""
        return first_at_or_after(self._parts.everything, timestamp_ms, end_offset, self._epochs.cache)

    def find_largest_timestamp(self, end_offset: Offset) -> TimestampOffset | None:
        """Return the first record with the largest timestamp below `end_offset`, or None."""
        return first_of_largest(self._parts.everything, end_offset, self._epochs.cache)

    def list_trusted(self) -> None:
        """List the full segments for the next start; see `ReplicaDirectory.write_checkpoints`."""
        with self._failure.watched():
            # A start takes the epochs of the listed segments from the checkpoint.
            self._epochs.store_late()
            self._trusted.list_full(self._parts.segments)

    def close(self) -> None:
        """Flush and close all files. After an error the files are closed without a flush.

        Raises:
            StorageError: the disk returned an error.
        """
        try:
            if not self._failure.has_happened:
                self._close_flushed(self.flush())
        finally:
            for segment in self._parts.segments:
                segment.close()

    def _close_flushed(self, end_offset: Offset) -> None:
        """Write what spares the next start the reading of the log, if the disk has room for it."""
        try:
            self._recovery_point.advance(end_offset)
            last = self._parts.last
            if last.size_bytes:
                last.seal()
                last.seal_indexes(self.end)
            self.list_trusted()
        except DiskFullError as error:
            _logger.warning("%s; the next start reads more of the log", error)

    def _write(self, run: Sequence[Batch]) -> None:
        if run:
            data, end_offset, epochs = joined(run, self._end_offset, self._epochs.cache)
            self._parts.last.append(data, [batch.header for batch in run])
            self._tail.append(self._end_offset, data)
            self._epochs.cache = epochs
            # This comes last, because a flush on another thread reports everything below it.
            self._end_offset = end_offset

    def _note_aborted(self) -> None:
        """Add the transactions whose marker is in the last segment to its index, before that is sealed."""
        waiting = self._not_noted
        noted = [each for each in waiting if each.last_offset < self._end_offset]
        if noted:
            self._parts.last.indexes.aborted.note(noted)
            self._not_noted = [each for each in waiting if each.last_offset >= self._end_offset]

    def _roll(self) -> None:
        full = self._parts.last
        # It must be on the disk before the next segment exists, because a flush takes the last segment only.
        full.seal()
        self._recovery_point.advance(self._end_offset)
        full.seal_indexes(self.end)
        self._parts.add(self._end_offset)
