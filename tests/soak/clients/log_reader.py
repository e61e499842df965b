"""A client that reads the whole log from its start, and on, until it is told where the end is."""

from __future__ import annotations

from raft.types import Offset
from tests.workload.history import History
from tests.workload.worker import Worker


class LogReader(Worker):
    """Knows how far it has read, and whether there is more to read.

    Args:
        name: see `Worker`; the name of its session, too.
        history: see `Worker`.
    """

    def __init__(self, name: str, history: History) -> None:
        super().__init__(name, history)
        self._position = Offset(0)
        self._last_offset = Offset(0)

    def read_to(self, last_offset: Offset) -> None:
        """Let it end once it has read the record at this offset."""
        self._last_offset = last_offset
        self.ask_to_stop()

    @property
    def _is_done(self) -> bool:
        return self._is_stopping.is_set() and self._position > self._last_offset
