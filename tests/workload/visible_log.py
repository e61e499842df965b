"""What readers of committed transactions may see of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from raft.types import Offset
from tests.workload.history import LoggedValue
from tests.workload.transaction_history import LoggedTransaction, StoredBatch, TransactionHistory

_NO_END = Offset(1 << 62)


@dataclass(slots=True, kw_only=True)
class VisibleLog:
    """A log as readers of committed transactions see it.

    Fields:
        records: the data records without a transaction, or of a committed one, in order.
        transactions: all of them, in the order in which they ended; open ones come last.
        complaints: what no leader may have written.
    """

    records: Sequence[LoggedValue]
    transactions: Sequence[LoggedTransaction]
    complaints: Sequence[str]

    @classmethod
    def of(cls, batches: Sequence[StoredBatch]) -> VisibleLog:
        """Read a whole log."""
        history = TransactionHistory(batches)
        unfinished = [
            f"WRITE_COMMIT without markers for the parts {sorted(write.missing)}" for write in history.unfinished_writes
        ]
        return cls(
            records=history.visible(batches, Offset(0), _NO_END),
            transactions=[*history.ended, *history.open.values()],
            complaints=[*history.complaints, *unfinished],
        )
