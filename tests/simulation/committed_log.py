"""The committed log: everything that has been below the high watermark of any node."""

from __future__ import annotations

from collections.abc import Iterable

from raft.types import Offset
from raft.writers.keys import version_of
from tests.simulation.log_model import Entry, LogModel, WriteId, write_id_of
from tests.workload.transaction_history import TransactionHistory


class CommittedLog:
    """The committed batches. The log only grows.

    Attributes:
        model: the batches.
        history: the transactions in them.
    """

    def __init__(self) -> None:
        self.model = LogModel()
        self.history = TransactionHistory()
        self._writes: dict[WriteId, Entry] = {}
        self._versions: dict[int, int] = {}

    @property
    def end_offset(self) -> Offset:
        """One past the last committed record."""
        return self.model.end_offset

    def extend(self, entries: Iterable[Entry]) -> None:
        """Append batches that are committed now."""
        for entry in entries:
            self.model.add(entry)
            self.history.add(entry)
            write_id = write_id_of(entry.header)
            if write_id is not None:
                self._writes[write_id] = entry
                producer_id, producer_epoch, base_sequence = write_id
                self._versions[producer_id] = version_of(producer_epoch, base_sequence)

    def is_consistent_with(self, log: LogModel) -> bool:
        """Whether a log is a prefix of this one, or this one is a prefix of it."""
        end_offset = min(log.end_offset, self.end_offset)
        return log.chain_at(end_offset) == self.model.chain_at(end_offset) is not None

    def find(self, write_id: WriteId) -> Entry | None:
        """Return the batch of a write; None if it is not committed."""
        return self._writes.get(write_id)

    def newest_version(self, producer_id: int) -> int | None:
        """Return the version of the last committed write of a keyed writer; None if there is none."""
        return self._versions.get(producer_id)
