"""Transactions: those of Kafka's clients, and the parts of multipart writes.

A multipart write is a keyed write that is larger than a record batch. Each attempt of a task appends its rows as a
transaction of its own, a part. One small record, WRITE_COMMIT, has the key of the write and names the parts that belong
to it. The leader that appends it also ends these parts with COMMIT markers, and all other parts of the same write with
ABORT markers. Readers see nothing from the first part of the write on until the last marker is committed. They see
nothing of it either while another transaction is open that began within the write.
"""

from raft.transactions.aborted_finder import AbortedFinder
from raft.transactions.image import NO_TRANSACTIONS, CommitImage, EndedWrite, TransactionsImage
from raft.transactions.producer_state import ProducerState, ProducerStateImage
from raft.transactions.snapshot_summary import SnapshotSummary
from raft.transactions.table import MAX_TRANSACTIONAL_IDS, TransactionTable
from raft.transactions.transaction import AbortedTransaction, OpenTransaction, TransactionalProducer

__all__ = [
    "MAX_TRANSACTIONAL_IDS",
    "NO_TRANSACTIONS",
    "AbortedFinder",
    "AbortedTransaction",
    "CommitImage",
    "EndedWrite",
    "OpenTransaction",
    "ProducerState",
    "ProducerStateImage",
    "SnapshotSummary",
    "TransactionTable",
    "TransactionalProducer",
    "TransactionsImage",
]
