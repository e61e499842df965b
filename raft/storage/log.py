"""The log of one partition: segments, epoch checkpoint and recovery point on the disk, the newest bytes in memory.

Threads: one thread at a time opens, appends, truncates, reads, searches and closes. `flush` may run on another thread
while the first appends, reads or searches, never while it truncates or closes. That works because a flush looks first
at the end it will vouch for and then at the segment to flush, while an append makes a new segment only after the old
one is flushed: whatever lies below that end is in the segment that flush finds, or is on the disk already.

An error on write or flush is final (LOG-17): what is on the disk is unknown from then on, so every later write or flush
is refused and the node stops.

Source: rules LOG-5, LOG-6, LOG-10 to LOG-14, LOG-17; Kafka UnifiedLog, KafkaRaftLog.
"""

from __future__ import annotations

import logging
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter

from raft.defaults import SEGMENT_BYTES
from raft.epoch_cache import EpochCache
from raft.errors import StorageError
from raft.records.header import with_base_offset_and_epoch
from raft.records.stored_header import StoredHeader, read_stored_header
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, read_epochs, write_epochs
from raft.storage.files import Files, join
from raft.storage.recovery import Recovery
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import LOG_SUFFIX, Segment
from raft.storage.tail import Tail
from raft.storage.timestamps import TimestampOffset, first_at_or_after, first_of_largest
from raft.types import LOG_BEGIN, Batch, BatchHeader, Epoch, EpochStart, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

_LARGEST_SEGMENT_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """How a log is cut up.

    Fields:
        segment_bytes: size at which a new segment is begun; an index holds positions as int32, so below 2 GiB.
        tail_bytes: how many of the newest bytes stay in memory.
    """

    segment_bytes: int = SEGMENT_BYTES
    tail_bytes: int = 4 << 20


class Log:
    """An open log; `open` makes one. Its offsets have no gaps, its epochs never fall."""

    def __init__(
        self,
        files: Files,
        directory: str,
        config: LogConfig,
        recovery_point: RecoveryPoint,
        start: OffsetAndEpoch,
        segments: list[Segment],
        end_offset: Offset,
        epochs: EpochCache,
    ) -> None:
        self._files = files
        self._directory = directory
        self._config = config
        self._recovery_point = recovery_point
        self._start = start
        self._segments = segments
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
        on_batch: Callable[[BatchHeader], None] | None = None,
        *,
        start: OffsetAndEpoch = LOG_BEGIN,
    ) -> Log:
        """Walk the whole log, mend what a crash left, and return it open and durable to its end.

        Args:
            files: where it lies.
            directory: the partition's folder, which exists.
            config: sizes.
            recovery_point: of this partition.
            on_batch: called with the header of every batch, in order, so that the caller needs no second walk.
            start: end of the snapshot that stands for what was before the log.

        Raises:
            CorruptBatchError: records that had been flushed are damaged or missing; names file and byte.
            StorageError: the disk refused.
        """
        assert 0 < config.segment_bytes <= _LARGEST_SEGMENT_BYTES, f"segments of {config.segment_bytes} bytes"
        epochs = EpochCache()

        def note(header: BatchHeader) -> None:
            nonlocal epochs
            epochs = _with_epoch_of(header, epochs)
            if on_batch is not None:
                on_batch(header)

        if start.offset > 0 and not files.exists(join(directory, f"{start.offset:020d}{LOG_SUFFIX}")):
            # A crash came while a snapshot was put in the place of the log before it.
            recovery_point.retreat(start.offset)
        recovery = Recovery(files, directory, start=start, recovery_point=recovery_point.offset, on_batch=note)
        segments, end_offset = recovery.open_segments()
        log = cls(files, directory, config, recovery_point, start, segments, end_offset, epochs)
        log._mend_epoch_checkpoint()
        return log

    @property
    def start(self) -> OffsetAndEpoch:
        """Where the log begins, and the epoch of the record before."""
        return self._start

    @property
    def start_offset(self) -> Offset:
        """Offset of the first record, or of the one to come."""
        return self._start.offset

    @property
    def end_offset(self) -> Offset:
        """Offset that the next record will get."""
        return self._end_offset

    @property
    def durable_end_offset(self) -> Offset:
        """Everything below is on the disk, as far as the last flush has told."""
        return self._durable_end_offset

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """Where each epoch that has records begins, in order."""
        return self._epochs.entries

    @property
    def segment_count(self) -> int:
        """How many segments there are, the one that is appended to among them."""
        return len(self._segments)

    def append(self, batches: Sequence[Batch]) -> None:
        """Write batches at the end. They are readable at once and durable after the next `flush`.

        Args:
            batches: in order, without gaps, from `end_offset` on. Their headers say which offset and epoch are
                written into the bytes.

        Raises:
            StorageError: the disk refused, now or before.
        """
        with self._one_failure_is_final():
            run: list[Batch] = []
            run_bytes = 0
            for batch in batches:
                header = batch.header
                if not self._segments[-1].has_room_for(
                    header, waiting_bytes=run_bytes, segment_bytes=self._config.segment_bytes
                ):
                    self._write(run)
                    self._roll()
                    run, run_bytes = [], 0
                run.append(batch)
                run_bytes += header.size_bytes
            self._write(run)

    def truncate(self, end_offset: Offset) -> None:
        """Return when everything from `end_offset` on is gone, on the disk too.

        Args:
            end_offset: the new end, which is the begin of a batch or the present end.

        Raises:
            StorageError: the disk refused, now or before.
        """
        assert self._start.offset <= end_offset <= self._end_offset, f"{end_offset} lies outside the log"
        if end_offset == self._end_offset:
            return
        with self._one_failure_is_final():
            # What is appended after the cut gets the old offsets: they are not flushed any more, and the recovery
            # point must not say so, not even for a moment.
            self._recovery_point.retreat(end_offset)
            self._remove_segments_behind(end_offset)
            self._segments[-1].truncate(end_offset)
            self._tail.truncate(end_offset)
            self._end_offset = end_offset
            self._durable_end_offset = min(self._durable_end_offset, end_offset)
            self._epochs = self._epochs.truncated(end_offset)
            self._store_epochs(self._epochs)

    def restart_at(self, start: OffsetAndEpoch) -> None:
        """Return when the log is empty and begins here, on the disk too.

        Args:
            start: end of a snapshot that is on the disk: a crash in the middle of this leads to the same end.

        Raises:
            StorageError: the disk refused, now or before.
        """
        with self._one_failure_is_final():
            self._recovery_point.retreat(start.offset)
            for segment in reversed(self._segments):
                segment.remove()
            self._segments = [self._new_segment(start.offset)]
            self._tail = Tail(self._config.tail_bytes)
            self._start = start
            self._end_offset = self._durable_end_offset = start.offset
            self._epochs = EpochCache()
            self._store_epochs(self._epochs)

    def read(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset) -> bytes:
        """Return whole batches, from the one that holds `start_offset` on; perhaps fewer than there are.

        Args:
            start_offset: no lower than the log's start.
            max_bytes: most to return; one batch is returned even if it is larger.
            end_offset: no batch that reaches beyond this is returned.

        Returns:
            b"" when there is nothing between the two offsets. The first batch may begin before `start_offset`.

        Raises:
            CorruptBatchError: the file is not what was written; names it, and the byte.
        """
        assert start_offset >= self._start.offset, f"{start_offset} lies before the log"
        pieces = self.pieces(start_offset, max_bytes=max_bytes, end_offset=end_offset, piece_bytes=sys.maxsize)
        return next(pieces, b"")

    def pieces(self, start_offset: Offset, *, max_bytes: int, end_offset: Offset, piece_bytes: int) -> Iterator[bytes]:
        """Yield what `read` returns piece by piece, so that other work on the log can come between them.

        Args:
            start_offset: see `read`.
            max_bytes: see `read`.
            end_offset: see `read`; all before it is committed.
            piece_bytes: most that one piece takes, which may end within a batch.
        """
        end_offset = min(end_offset, self._end_offset)
        if start_offset < self._start.offset or start_offset >= end_offset:
            return
        recent = self._tail.read(start_offset, max_bytes=max_bytes, end_offset=end_offset)
        if recent is not None:
            yield recent
            return
        segment = self._segment_of(start_offset)
        span = segment.span(start_offset, max_bytes=max_bytes, end_offset=end_offset)
        for position in span[::piece_bytes]:
            if start_offset < self._start.offset:
                return  # a snapshot has taken the place of the log's start
            yield segment.read_at(position, min(piece_bytes, span.stop - position))

    def header_of(self, offset: Offset) -> StoredHeader:
        """Return the header of the batch that holds the record at `offset`; no more of the batch is read.

        Raises:
            CorruptBatchError: the file is not what was written; names it, and the byte.
        """
        assert self._start.offset <= offset < self._end_offset, f"{offset} lies outside the log"
        recent = self._tail.header_of(offset)
        return read_stored_header(recent) if recent is not None else self._segment_of(offset).header_of(offset)

    def flush(self) -> Offset:
        """Return when all that was appended before the call is on the disk, and the end offset of that.

        Raises:
            StorageError: the disk refused, now or before. It is not asked again.
        """
        with self._one_failure_is_final():
            # The order of these two lines matters: see the module's word on threads.
            end_offset = self._end_offset
            segment = self._segments[-1]
            epochs = self._epochs
            segment.flush()
            if epochs is not self._epochs_on_disk:
                self._store_epochs(epochs)
            self._durable_end_offset = end_offset
            return end_offset

    def find_offset_by_timestamp(self, timestamp_ms: int, end_offset: Offset) -> TimestampOffset | None:
        """Return the first record below `end_offset` whose timestamp is this or later, or None."""
        return first_at_or_after(self._segments, timestamp_ms, end_offset)

    def find_largest_timestamp(self, end_offset: Offset) -> TimestampOffset | None:
        """Return the first of the records below `end_offset` that have the largest timestamp, or None."""
        return first_of_largest(self._segments, end_offset)

    def close(self) -> None:
        """Flush and close all files. After a failure the files are closed as they are.

        Raises:
            StorageError: the disk refused.
        """
        try:
            if self._failure is None:
                self._recovery_point.advance(self.flush())
                self._segments[-1].indexes.seal()
        finally:
            for segment in self._segments:
                segment.close()

    def _segment_of(self, offset: Offset) -> Segment:
        return self._segments[bisect_right(self._segments, offset, key=attrgetter("base_offset")) - 1]

    def _write(self, run: Sequence[Batch]) -> None:
        next_offset = self._end_offset
        epochs = self._epochs
        pieces: list[bytes] = []
        for batch in run:
            header = batch.header
            assert header.base_offset == next_offset, f"batch at offset {header.base_offset}, {next_offset} is next"
            assert header.size_bytes == len(batch.payload), f"{len(batch.payload)} bytes, {header.size_bytes} announced"
            next_offset = header.end_offset
            epochs = _with_epoch_of(header, epochs)
            pieces.append(with_base_offset_and_epoch(batch.payload, header.base_offset, header.epoch))
        if pieces:
            data = b"".join(pieces)
            self._segments[-1].append(data, [batch.header for batch in run])
            self._tail.append(self._end_offset, data)
            self._epochs = epochs
            # Last, because a flush on another thread vouches for everything below it.
            self._end_offset = next_offset

    def _roll(self) -> None:
        full = self._segments[-1]
        # On the disk before the next one exists: a later flush looks at the last segment only.
        full.seal()
        self._recovery_point.advance(self._end_offset)
        full.indexes.seal()
        self._segments.append(self._new_segment(self._end_offset))

    def _remove_segments_behind(self, end_offset: Offset) -> None:
        if self._segments[-1].base_offset <= end_offset:
            return
        while self._segments[-1].base_offset > end_offset:
            self._segments.pop().remove()
        # Before another segment is cut: one that a crash brought back behind the cut would look like the rest of a log
        # that lost records in the middle, and the node would refuse to start.
        self._files.sync_directory(self._directory)

    def _new_segment(self, base_offset: Offset) -> Segment:
        segment = Segment(self._files, self._directory, base_offset, create=True)
        segment.indexes.attach()
        self._files.sync_directory(self._directory)
        return segment

    def _mend_epoch_checkpoint(self) -> None:
        name = join(self._directory, EPOCH_CHECKPOINT_NAME)
        try:
            is_right = read_epochs(self._files, name) == self._epochs.entries
        except StorageError as error:
            _logger.warning("%s; it is written anew from the log, which says the same", error)
            is_right = False
        if not is_right:
            self._store_epochs(self._epochs)

    def _store_epochs(self, epochs: EpochCache) -> None:
        write_epochs(self._files, join(self._directory, EPOCH_CHECKPOINT_NAME), epochs.entries)
        self._epochs_on_disk = epochs

    @contextmanager
    def _one_failure_is_final(self) -> Iterator[None]:
        if self._failure is not None:
            raise StorageError(f"no more writes after an error: {self._failure}") from self._failure
        try:
            yield
        except StorageError as error:
            self._failure = error
            raise


def _with_epoch_of(header: BatchHeader, epochs: EpochCache) -> EpochCache:
    last_epoch = epochs.last.epoch if epochs.last is not None else Epoch(0)
    assert header.epoch >= last_epoch, f"batch of epoch {header.epoch} after epoch {last_epoch}"
    return epochs.with_epoch(header.epoch, header.base_offset)
