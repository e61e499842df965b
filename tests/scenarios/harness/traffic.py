"""What scenarios do to messages: links that are cut, messages that are lost or held back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from raft.types import NodeId
from tests.scenarios.harness.pattern import Pattern
from tests.simulation.message import Message
from tests.simulation.network import Fate
from tests.simulation.timeline import Action

Link = tuple[NodeId, NodeId]
"""One direction: from, to."""


class Held(NamedTuple):
    """A message that is held back, and what delivers it."""

    message: Message
    deliver: Action


class Traffic:
    """Judges the messages between nodes. What is lost is lost in silence, as behind a firewall.

    Args:
        is_up: whether a node runs, or is about to; what goes to one that does not is lost.

    Attributes:
        held: kept back until a command says what becomes of them, the oldest first.
    """

    def __init__(self, is_up: Callable[[int], bool]) -> None:
        self.held: list[Held] = []
        self._is_up = is_up
        self._cut: set[Link] = set()
        self._losing: list[Pattern] = []
        self._holding: list[Pattern] = []

    def judge(self, message: Message, deliver: Action) -> Fate:
        """See `tests.simulation.network.Judge`."""
        if message.round_trip is None or message.round_trip.process is None:
            return Fate.CARRIED  # not of a node
        if not self.is_passable(message):
            return Fate.LOST
        if any(pattern.matches(message) for pattern in self._holding):
            self.held.append(Held(message, deliver))
            return Fate.HELD
        return Fate.CARRIED

    def is_passable(self, message: Message) -> bool:
        """Whether nothing on the way loses this message now."""
        link = NodeId(message.sender), NodeId(message.receiver)
        is_lost = link in self._cut or any(pattern.matches(message) for pattern in self._losing)
        return not is_lost and self._is_up(message.receiver)

    def take_held(self, pattern: Pattern) -> list[Held]:
        """Remove and return the held messages that are meant, oldest first."""
        taken = [held for held in self.held if pattern.matches(held.message)]
        self.held = [held for held in self.held if not pattern.matches(held.message)]
        return taken

    def cut(self, links: Iterable[Link]) -> None:
        """Carry nothing there from now on."""
        self._cut.update(links)

    def heal(self, links: Iterable[Link]) -> None:
        """Carry again."""
        self._cut.difference_update(links)

    def lose(self, pattern: Pattern) -> None:
        """Lose such messages from now on."""
        self._losing.append(pattern)

    def hold(self, pattern: Pattern) -> None:
        """Hold such messages back from now on."""
        self._holding.append(pattern)

    def carry_everything(self) -> None:
        """Neither lose nor hold back by kind any more. Cut links stay cut, held messages held."""
        self._losing.clear()
        self._holding.clear()
