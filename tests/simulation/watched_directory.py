"""A replica's directory whose changes are looked at as they happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from raft.storage.directory import ReplicaDirectory
from raft.types import Batch, ElectionState, Offset
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.log_model import Entry
from tests.simulation.written_log import WrittenLog


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryListener:
    """What is told of a directory, at the very moment at which it happens.

    Fields:
        wrote: batches go into the log's file.
        appended: they are there.
        stored: an election state is durable.
        flushed: more of the log may be durable.
        checkpointed: the checkpoints are durable.
    """

    wrote: Callable[[list[Entry]], None]
    appended: Callable[[], None]
    stored: Callable[[], None]
    flushed: Callable[[], None]
    checkpointed: Callable[[], None]


class WatchedDirectory(ReplicaDirectory):
    """Keeps a model of its log, and tells of what it does. `watch` comes after `open`.

    Attributes:
        truncations: how often the log was truncated.
    """

    truncations = 0
    _written: WrittenLog
    _listener: DirectoryListener

    def watch(self, written: WrittenLog, listener: DirectoryListener) -> None:
        """Begin to tell.

        Args:
            written: the model of the log.
            listener: is told.
        """
        self._written = written
        self._listener = listener

    def append(self, batches: Sequence[Batch]) -> bool:
        """See `ReplicaDirectory.append`."""
        self._listener.wrote([self._written.append(batch) for batch in batches])
        has_rolled = super().append(batches)
        self._listener.appended()
        return has_rolled

    def truncate(self, end_offset: Offset) -> None:
        """See `ReplicaDirectory.truncate`."""
        self._written.begin_cut(end_offset)
        super().truncate(end_offset)
        self._written.end_cut(end_offset)
        self.truncations += 1

    def store_election_state(self, state: ElectionState, *, kraft_version: int = 0) -> None:
        """See `ReplicaDirectory.store_election_state`."""
        super().store_election_state(state, kraft_version=kraft_version)
        self._listener.stored()

    def flush(self) -> Offset:
        """See `ReplicaDirectory.flush`."""
        claimed = super().flush()
        durable_end = self._written.look()
        if durable_end < claimed:
            detail = f"flush says {claimed}, durable is {durable_end}"
            raise BrokenInvariantError("FlushTellsTheTruth", ("LOG-6",), detail)
        self._listener.flushed()
        return claimed

    def write_checkpoints(self) -> bool:
        """See `ReplicaDirectory.write_checkpoints`."""
        is_complete = super().write_checkpoints()
        self._listener.checkpointed()
        return is_complete
