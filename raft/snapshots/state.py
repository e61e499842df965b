"""What a log leaves behind besides its records: its epochs, its writers and its transactional ids."""

from __future__ import annotations

from dataclasses import dataclass

from raft.transactions import ProducerStateImage
from raft.types import EpochStart, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotState:
    """The state of a log that ends with a snapshot. No transaction is open there.

    Fields:
        end: end offset of the snapshot, and the epoch of the record before.
        epochs: the epochs up to there, as far as they are known.
        producers: the writers and the transactional ids.
    """

    end: OffsetAndEpoch
    epochs: tuple[EpochStart, ...]
    producers: ProducerStateImage

    @property
    def end_offset(self) -> Offset:
        """End offset of the snapshot."""
        return self.end.offset
