"""Opens the files of a log: trusts what was flushed and listed, reads the rest, and repairs what a crash left there.

The tables of writers are restored from a producer snapshot, which may end before the part that is read. So the batches
from the end of that snapshot on are read too, for the tables alone.

Source: rules LOG-13, LOG-15, LOG-22, LOG-25.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft.epoch_cache import EpochCache
from raft.errors import StorageError
from raft.storage.append_run import with_epoch_of
from raft.storage.compacted_records import CompactedRecords
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, mend_epochs, read_epochs
from raft.storage.files import Files, join
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.log_files import LogFiles
from raft.storage.recovery import Recovery
from raft.storage.recovery_point import RecoveryPoint
from raft.storage.segment import LOG_SUFFIX
from raft.storage.trusted_segments import TrustedSegments
from raft.transactions import (
    NO_TRANSACTIONS,
    AbortedFinder,
    AbortedTransaction,
    ProducerStateImage,
    SnapshotSummary,
)
from raft.types import LOG_BEGIN, BatchHeader, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLog:
    """What `open_log_files` found.

    Fields:
        start: the first offset of the log, and the epoch of the record before it.
        files: the files.
        end_offset: of the log.
        epochs: of the log.
        trusted: the list of trusted segments.
        are_epochs_late: whether the disk had no room for the epoch checkpoint, so that it has to be written later.
    """

    start: OffsetAndEpoch
    files: LogFiles
    end_offset: Offset
    epochs: EpochCache
    trusted: TrustedSegments
    are_epochs_late: bool


def _accept(_header: BatchHeader) -> None:
    """Accept every control batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Who wants the headers of the batches.

    Fields:
        restore: called once, before any header, with an offset; restores the tables from the newest producer snapshot
            at or below that offset and returns it, or None if the tables are empty then.
        on_batch: called with the header of every batch from the end of that producer snapshot on, in order.
        on_control: called with the header of every control batch that is read; what it raises refuses the start.
        reads_all: whether segments are read although they may be trusted.
    """

    restore: Callable[[Offset], ProducerStateImage | None]
    on_batch: Callable[[BatchHeader], object]
    on_control: Callable[[BatchHeader], None] = _accept
    reads_all: bool = False


def open_log_files(
    files: Files,
    directory: str,
    recovery_point: RecoveryPoint,
    *,
    snapshot: SnapshotSummary | None,
    compacted: CompactedRecords | None,
    replay: Replay,
) -> OpenedLog:
    """Return the files of a log, which is on the disk up to its end.

    Args:
        files: where the log is.
        directory: the partition's folder, which exists.
        recovery_point: of this partition.
        snapshot: see `Log.open`.
        compacted: see `Log.open`.
        replay: see `Replay`.

    Raises:
        CorruptBatchError: records that were flushed are damaged or missing; names file and byte.
        StorageError: the disk returned an error.
    """
    start = LOG_BEGIN if snapshot is None else snapshot.end
    epochs = EpochCache(() if snapshot is None else snapshot.epochs)
    if start.offset > 0 and not files.exists(join(directory, f"{start.offset:020d}{LOG_SUFFIX}")):
        # A crash came while a snapshot replaced the log.
        recovery_point.retreat(start.offset)

    def note(header: BatchHeader) -> AbortedTransaction | None:
        nonlocal epochs
        if header.is_control:
            replay.on_control(header)
        epochs = with_epoch_of(header, epochs)
        if header.base_offset >= replayed_from:
            replay.on_batch(header)
        return aborts.appended(header)

    trusted = TrustedSegments(files, directory)
    loaded = LoadedIndexes()
    recovery = Recovery(
        files, directory, start=start, recovery_point=recovery_point.offset, loaded=loaded, on_batch=note
    )
    if not replay.reads_all:
        recovery.trust(trusted.listed)
    if recovery.end != start:
        stored = _epochs_up_to(recovery.end, files, directory)
        if stored is None:
            recovery.distrust()
        else:
            epochs = stored
    trusted_end = recovery.end.offset
    image = replay.restore(trusted_end)
    replayed_from = start.offset if image is None else image.end_offset
    transactions = image.transactions if image is not None else NO_TRANSACTIONS
    if image is None and snapshot is not None:
        transactions = snapshot.producers.transactions
    aborts = AbortedFinder(transactions)
    for header in recovery.trusted_headers(replayed_from):
        replay.on_batch(header)
        aborts.appended(header)
    segments, end_offset = recovery.open_segments()
    are_epochs_right = mend_epochs(files, join(directory, EPOCH_CHECKPOINT_NAME), epochs.entries)
    return OpenedLog(
        start=start,
        files=LogFiles(files, directory, segments, compacted, loaded),
        end_offset=end_offset,
        epochs=epochs,
        trusted=trusted,
        are_epochs_late=not are_epochs_right,
    )


def _epochs_up_to(end: OffsetAndEpoch, files: Files, directory: str) -> EpochCache | None:
    """Return the epochs of the checkpoint below an offset; None if it does not have the epoch of the batch there."""
    try:
        epochs = EpochCache(read_epochs(files, join(directory, EPOCH_CHECKPOINT_NAME))).truncated(end.offset)
    except StorageError:
        return None
    return epochs if epochs.last is not None and epochs.last.epoch == end.epoch else None
