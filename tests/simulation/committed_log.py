"""The one log that the quorum has promised to the world: everything that was below any node's high watermark, ever."""

from __future__ import annotations

from collections.abc import Iterable

from raft.types import Offset
from raft.writers.keys import version_of
from tests.simulation.log_model import Entry, LogModel, WriteId, write_id_of


class CommittedLog:
    """What is committed. It only grows."""

    def __init__(self) -> None:
        self.model = LogModel()
        self._writes: dict[WriteId, Entry] = {}
        self._versions: dict[int, int] = {}

    @property
    def end_offset(self) -> Offset:
        """One past the last committed record."""
        return self.model.end_offset

    def extend(self, entries: Iterable[Entry]) -> None:
        """Commit more."""
        for entry in entries:
            self.model.add(entry)
            write_id = write_id_of(entry.header)
            if write_id is not None:
                self._writes[write_id] = entry
                producer_id, producer_epoch, base_sequence = write_id
                self._versions[producer_id] = version_of(producer_epoch, base_sequence)

    def holds(self, log: LogModel) -> bool:
        """Whether a log is a beginning of this one, or goes on from all of it."""
        end_offset = min(log.end_offset, self.end_offset)
        return log.chain_at(end_offset) == self.model.chain_at(end_offset) is not None

    def find(self, write_id: WriteId) -> Entry | None:
        """The batch of a write, if that is committed."""
        return self._writes.get(write_id)

    def newest_version(self, producer_id: int) -> int | None:
        """The version of the last committed write of a writer of keys."""
        return self._versions.get(producer_id)
