"""A client of this project that asks where the log ends, each time with a session that knows nothing of the quorum."""

from __future__ import annotations

from collections.abc import Callable

from raft.client import calls
from raft.client.results import FoundOffset
from raft.errors import RaftError
from raft.types import Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from tests.simulation.clients.our_client import OurClient
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.timeline import Timeline

_PAUSE_MS = (0, 100)


class EndReader:
    """Asks for the end of the log, as a batch read does in a new process: no epoch protects it from a deposed leader.

    Args:
        name: the name of the reader.
        new_client: makes a client that asks the node with this number first, modulo the number of nodes.
        timeline: virtual time.
        dice: the random numbers of the reader.
        watch: receives questions and offsets.

    Attributes:
        end_offset: the last offset that it has received.
    """

    def __init__(
        self, name: str, new_client: Callable[[int], OurClient], *, timeline: Timeline, dice: Dice, watch: Observer
    ) -> None:
        self.name = name
        self.end_offset = Offset(0)
        self._new_client = new_client
        self._timeline = timeline
        self._dice = dice
        self._watch = watch

    def begin(self) -> None:
        """Ask a random node first, and again when that is done."""
        self._watch.offset_requested(self.name, LATEST_TIMESTAMP)
        client = self._new_client(self._dice.draw(1 << 16))
        client.call(self._on_found, self._on_error, calls.find_offset, LATEST_TIMESTAMP)

    def _on_found(self, found: FoundOffset | None) -> None:
        self._watch.offset_found(self.name, LATEST_TIMESTAMP, found)
        if found is not None:
            self.end_offset = found.offset
        self._pause()

    def _on_error(self, _error: RaftError) -> None:
        self._pause()

    def _pause(self) -> None:
        self._timeline.after(self._dice.between(_PAUSE_MS), self.begin)
