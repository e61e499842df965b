"""What the log says about its producers: the writers and the transactions. Both are functions of the log.

Source: Kafka ProducerStateManager.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.transactions.image import NO_TRANSACTIONS, TransactionsImage
from raft.transactions.table import TransactionTable
from raft.transactions.transaction import AbortedTransaction
from raft.types import BatchHeader, Offset
from raft.writers import TableImage, WriterTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerStateImage:
    """Both tables for a log that ends at one offset. It does not change with them."""

    writers: TableImage
    transactions: TransactionsImage = NO_TRANSACTIONS

    @property
    def end_offset(self) -> Offset:
        """End of that log."""
        return self.writers.end_offset


class ProducerState:
    """The table of writers and the table of transactions of one log.

    Args:
        writers: an empty table; None for one with the defaults.
        transactions: an empty table; None for one with the defaults.
    """

    __slots__ = ("transactions", "writers")

    def __init__(self, writers: WriterTable | None = None, transactions: TransactionTable | None = None) -> None:
        self.writers = writers or WriterTable()
        self.transactions = transactions or TransactionTable()

    def appended(self, header: BatchHeader) -> AbortedTransaction | None:
        """Count a batch that was appended to the log; return the transaction that it aborts, if it does."""
        self.writers.appended(header)
        return self.transactions.appended(header)

    def truncated(self, end_offset: Offset) -> None:
        """Undo every batch at `end_offset` or past it."""
        self.writers.truncated(end_offset)
        self.transactions.truncated(end_offset)

    def committed(self, high_watermark: Offset) -> None:
        """Drop what is needed to undo batches below the high watermark: they are never truncated."""
        self.writers.committed(high_watermark)
        self.transactions.committed(high_watermark)

    def forget_everything(self) -> None:
        """Start with empty tables, because a snapshot has replaced the log."""
        self.writers.forget_everything()
        self.transactions.forget_everything()

    def image(self, end_offset: Offset) -> ProducerStateImage:
        """Return a copy of both tables.

        Args:
            end_offset: the present end of the log.
        """
        return ProducerStateImage(writers=self.writers.image(end_offset), transactions=self.transactions.image())

    def restore(self, image: ProducerStateImage) -> None:
        """Replace both tables by an image; the batches from its end on are to be counted next."""
        self.writers.restore(image.writers)
        self.transactions.restore(image.transactions)
