"""Finds the aborted transactions of a log that is read from its first batch on.

If the log begins with a snapshot, transactions may be open there.
"""

from __future__ import annotations

from raft.transactions.image import NO_TRANSACTIONS, TransactionsImage
from raft.transactions.table import TransactionTable
from raft.transactions.transaction import AbortedTransaction
from raft.types import BatchHeader, Offset

_BEHIND_EVERY_LOG = Offset((1 << 63) - 1)


class AbortedFinder:
    """The open transactions up to a point of the log, without what is needed to undo them.

    Args:
        transactions: those that are open at the start of the log.
    """

    __slots__ = ("_table",)

    def __init__(self, transactions: TransactionsImage = NO_TRANSACTIONS) -> None:
        self._table = TransactionTable(max_transactional_ids=0)
        self._table.restore(transactions)
        self._table.committed(_BEHIND_EVERY_LOG)

    def appended(self, header: BatchHeader) -> AbortedTransaction | None:
        """Count the next batch of the log; return the transaction that it aborts, if it does."""
        aborted = self._table.appended(header)
        if header.is_control:
            self._table.committed(_BEHIND_EVERY_LOG)
        return aborted
