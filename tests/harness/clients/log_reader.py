"""A client that reads the whole log from its start, and stops at an offset that it gets later."""

from __future__ import annotations

from raft.types import Offset
from tests.workload.history import History
from tests.workload.worker import Worker


class LogReader(Worker):
    """Knows how far it has read, and when it has read everything.

    Args:
        name: see `Worker`; also the name of its session.
        history: see `Worker`.
    """

    def __init__(self, name: str, history: History) -> None:
        super().__init__(name, history)
        self._position = Offset(0)
        self._last_offset = Offset(0)

    def read_to(self, last_offset: Offset) -> None:
        """Stop once the record at this offset is read."""
        self._last_offset = last_offset
        self.ask_to_stop()

    @property
    def _is_done(self) -> bool:
        return self._is_stopping.is_set() and self._position > self._last_offset
