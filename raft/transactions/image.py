"""The table of transactions for one end of the log, for a producer snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from raft.transactions.transaction import OpenTransaction, TransactionalProducer
from raft.types import Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitImage:
    """A multipart write whose WRITE_COMMIT is in the log, and some of its COMMIT markers are not.

    Fields:
        offset: of the WRITE_COMMIT record.
        first_offset: of the first record of all its parts.
        missing: producer ids of the parts without a marker.
    """

    offset: Offset
    first_offset: Offset
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedWrite:
    """A multipart write whose last marker is in the log, or several that overlap.

    Fields:
        first_offset: of the first record of all their parts.
        end_offset: after the last of their markers.
    """

    first_offset: Offset
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionsImage:
    """The table of transactions. It does not change with the table.

    Fields:
        transactions: the open ones, in the order in which they began.
        producers: those with a transactional id; the one whose last use is the oldest comes first.
        commits: multipart writes that are committed but not ended, in the order of the log.
        ended_writes: multipart writes that have ended after the begin of an open transaction, in the order of the log.
    """

    transactions: tuple[OpenTransaction, ...] = ()
    producers: tuple[TransactionalProducer, ...] = ()
    commits: tuple[CommitImage, ...] = ()
    ended_writes: tuple[EndedWrite, ...] = ()

    @property
    def is_between_markers(self) -> bool:
        """Whether the log ends between the markers of a multipart write, after that of the part that began first.

        Then the open transactions do not tell where the write begins.
        """
        first_offsets = {transaction.producer_id: transaction.first_offset for transaction in self.transactions}
        return any(
            commit.first_offset < min(first_offsets[producer_id] for producer_id in commit.missing)
            for commit in self.commits
        )


NO_TRANSACTIONS = TransactionsImage()
"""The table of a log without transactions."""
