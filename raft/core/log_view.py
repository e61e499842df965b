"""The log as the rules see it: its start, its end, and which epoch wrote which offsets. It holds no records."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from raft.epoch_cache import EpochCache
from raft.transactions import SnapshotSummary
from raft.types import LOG_BEGIN, BatchHeader, Epoch, EpochStart, Offset, OffsetAndEpoch


class Agreement(Enum):
    """Whether a replica's log, up to its fetch offset, is a prefix of this log."""

    VALID = "the logs agree up to the fetch offset"
    DIVERGING = "the replica must truncate its log first"


class LogView:
    """Start, end and epoch cache of the log (LOG-10). The cache has one entry per epoch; epochs and offsets both rise.

    Args:
        start: where the log begins, and the epoch of the record before.
        shows_snapshot: whether clients read the records of the snapshot at the start.
        end_offset: offset of the next record.
        epochs: the epoch cache, oldest first. It may begin before the log.
    """

    __slots__ = ("_epoch_before_start", "_epochs", "_shows_snapshot", "end_offset", "start_offset")

    def __init__(
        self,
        *,
        start: OffsetAndEpoch = LOG_BEGIN,
        shows_snapshot: bool = False,
        end_offset: Offset = Offset(0),
        epochs: Iterable[EpochStart] = (),
    ) -> None:
        self.start_offset = start.offset
        """Offset of the first record, or of the next one in an empty log."""
        self.end_offset = end_offset
        """Offset of the next record."""
        self._epoch_before_start = start.epoch
        self._shows_snapshot = shows_snapshot
        self._epochs = EpochCache(tuple(epochs))

    @property
    def start(self) -> OffsetAndEpoch:
        """The start offset, and the epoch of the record before."""
        return OffsetAndEpoch(epoch=self._epoch_before_start, offset=self.start_offset)

    @property
    def readable_from(self) -> Offset:
        """The lowest offset that a client may ask for: 0 if it reads the snapshot, which has gaps (READ-7)."""
        return Offset(0) if self._shows_snapshot else self.start_offset

    @property
    def last_epoch(self) -> Epoch:
        """Epoch of the last record, 0 for an empty log (GEN-13). An epoch without records does not count."""
        return self.epoch_at(self.end_offset)

    @property
    def end(self) -> OffsetAndEpoch:
        """The log end offset and last epoch, which elections compare."""
        return OffsetAndEpoch(epoch=self.last_epoch, offset=self.end_offset)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """The epoch cache, oldest first."""
        return self._epochs.entries

    def start_epoch(self, epoch: Epoch, start_offset: Offset) -> None:
        """Enter an epoch; see `EpochCache.with_epoch`."""
        self._epochs = self._epochs.with_epoch(epoch, start_offset)

    def append(self, header: BatchHeader) -> None:
        """Count a batch; it must begin where the log ends (LOG-5)."""
        assert header.base_offset == self.end_offset, f"batch at {header.base_offset}, log ends at {self.end_offset}"
        self.extend(header.epoch, header.end_offset)

    def extend(self, epoch: Epoch, end_offset: Offset) -> None:
        """Count records of this epoch, from the present end of the log up to `end_offset`."""
        assert epoch >= self.last_epoch, f"records of epoch {epoch} after epoch {self.last_epoch}"
        self.start_epoch(epoch, self.end_offset)
        self.end_offset = end_offset

    def truncate(self, end_offset: Offset) -> None:
        """Drop everything from `end_offset` on, with the epochs that begin there (DIVERGE-6)."""
        self.end_offset = min(self.end_offset, end_offset)
        self._epochs = self._epochs.truncated(end_offset)

    def restart_at(self, contents: SnapshotSummary) -> None:
        """Drop everything: a snapshot replaces the log, which now begins at its end."""
        self.end_offset = contents.end.offset
        self.delete_before(contents.end, shows_snapshot=contents.shows_records)
        self._epochs = EpochCache(contents.epochs)

    def delete_before(self, start: OffsetAndEpoch, *, shows_snapshot: bool) -> None:
        """Drop the records before `start`. Their epochs stay, because clients ask for them.

        Args:
            start: end of a snapshot.
            shows_snapshot: see the class.
        """
        self.start_offset, self._epoch_before_start, self._shows_snapshot = start.offset, start.epoch, shows_snapshot

    def end_of_epoch(self, epoch: Epoch) -> OffsetAndEpoch:
        """Return the largest epoch at or below `epoch` and where it ends here; see `EpochCache.end_of_epoch`."""
        return self._epochs.end_of_epoch(epoch, log_end=self.end)

    def epoch_at(self, offset: Offset) -> Epoch:
        """Epoch of the record just before `offset`, 0 at the very start."""
        epoch = self._epochs.epoch_before(offset)
        return self._epoch_before_start if epoch is None else epoch

    def agreement(self, fetch_offset: Offset, last_fetched_epoch: Epoch) -> Agreement:
        """Compare a replica's position with this log (DIVERGE-3); the start of the next epoch is a valid position."""
        if self.start_offset == 0 and fetch_offset == 0:
            return Agreement.VALID
        end = self.end_of_epoch(last_fetched_epoch)
        if end.epoch == last_fetched_epoch and end.offset >= fetch_offset:
            return Agreement.VALID
        return Agreement.DIVERGING

    def truncation_offset(self, diverging: OffsetAndEpoch) -> Offset:
        """Return where to truncate when the leader names `diverging`, the largest common epoch and its end there
        (DIVERGE-5).
        """
        if diverging.epoch == 0:
            return min(diverging.offset, self.end_offset)
        local = self.end_of_epoch(diverging.epoch)
        return min(local.offset, diverging.offset) if local.epoch == diverging.epoch else local.offset
