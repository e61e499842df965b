"""What a node has to know of a snapshot besides its records."""

from __future__ import annotations

from dataclasses import dataclass

from raft.transactions.producer_state import ProducerStateImage
from raft.types import EpochStart, LoggedVoters, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummary:
    """The state of a log that ends with a snapshot.

    Fields:
        end: end offset of the snapshot, and the epoch of the record before.
        epochs: the epochs up to there, as far as they are known.
        producers: the writers and the transactions. Those that are open there have ended after the snapshot: every
            leader has their markers, so no more is known of them than where they began.
        shows_records: whether clients read the records in it.
        logged_voters: what it says of the voters; None for nothing.
    """

    end: OffsetAndEpoch
    epochs: tuple[EpochStart, ...]
    producers: ProducerStateImage
    shows_records: bool = False
    logged_voters: LoggedVoters | None = None
