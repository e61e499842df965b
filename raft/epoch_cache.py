"""The epoch cache of a log: its leader epochs, and the offset at which each begins (LOG-10).

Source: Kafka LeaderEpochFileCache; rules LOG-10, LOG-12, DIVERGE-2, DIVERGE-6.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter

from raft.types import Epoch, EpochStart, Offset, OffsetAndEpoch

_EPOCH = attrgetter("epoch")
_START_OFFSET = attrgetter("start_offset")


@dataclass(frozen=True, slots=True)
class EpochCache:
    """The entries of an epoch cache. A change returns another cache, so a thread can keep the one that it has.

    Fields:
        entries: one for each epoch; epochs and start offsets both rise.
    """

    entries: tuple[EpochStart, ...] = ()

    @property
    def last(self) -> EpochStart | None:
        """The newest entry; None in an empty cache."""
        return self.entries[-1] if self.entries else None

    def with_epoch(self, epoch: Epoch, start_offset: Offset) -> EpochCache:
        """Return the cache with one more entry; it replaces the entries at or past it in either column (LOG-12).

        The newest epoch at the same or a later offset changes nothing.
        """
        last = self.last
        if last is not None and last.epoch == epoch and last.start_offset <= start_offset:
            return self
        kept = min(
            bisect_left(self.entries, epoch, key=_EPOCH), bisect_left(self.entries, start_offset, key=_START_OFFSET)
        )
        return EpochCache((*self.entries[:kept], EpochStart(epoch=epoch, start_offset=start_offset)))

    def truncated(self, end_offset: Offset) -> EpochCache:
        """Return the cache without the epochs that begin at `end_offset` or later (DIVERGE-6)."""
        return EpochCache(self.entries[: bisect_left(self.entries, end_offset, key=_START_OFFSET)])

    def entries_from(self, offset: Offset) -> tuple[EpochStart, ...]:
        """Return the entries from the one that holds `offset` on; all of them if `offset` lies before the first."""
        at = bisect_right(self.entries, offset, key=_START_OFFSET) - 1
        return self.entries[max(at, 0) :]

    def epoch_before(self, offset: Offset) -> Epoch | None:
        """Return the epoch of the record just before `offset`; None if it lies before the first entry."""
        last = self.last
        if last is not None and last.start_offset < offset:
            return last.epoch
        at = bisect_left(self.entries, offset, key=_START_OFFSET) - 1
        return self.entries[at].epoch if at >= 0 else None

    def end_of_epoch(self, epoch: Epoch, *, log_end: OffsetAndEpoch) -> OffsetAndEpoch:
        """Return the largest epoch at or below `epoch`, and where it ends (DIVERGE-2).

        An epoch below the first entry gives (epoch, start of the first entry).

        Args:
            epoch: the epoch that a follower asks about.
            log_end: the end of the log: where its last epoch ends, and the result for a cache without entries.
        """
        if not self.entries:
            return log_end
        at = bisect_right(self.entries, epoch, key=_EPOCH)
        if at == len(self.entries):
            return OffsetAndEpoch(epoch=self.entries[-1].epoch, offset=log_end.offset)
        return OffsetAndEpoch(epoch=self.entries[at - 1].epoch if at else epoch, offset=self.entries[at].start_offset)
