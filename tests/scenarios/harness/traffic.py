"""What the commands of scenarios do to messages: cut links, lose messages, hold them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from raft.types import NodeId
from tests.scenarios.harness.pattern import Pattern
from tests.simulation.message import Message
from tests.simulation.network import Fate
from tests.simulation.timeline import Action

Link = tuple[NodeId, NodeId]
"""One direction of a link: from, to."""


class Held(NamedTuple):
    """A message that is held back, and the action that delivers it."""

    message: Message
    deliver: Action


class Traffic:
    """Decides the fates of messages between nodes. The sender of a lost message gets no error.

    Args:
        is_up: whether a node runs or is starting; messages to other nodes are lost.

    Attributes:
        held: the messages that are held back until a command delivers or drops them, the oldest first.
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
            return Fate.CARRIED  # not sent by a node
        if not self.is_passable(message):
            return Fate.LOST
        if any(pattern.matches(message) for pattern in self._holding):
            self.held.append(Held(message, deliver))
            return Fate.HELD
        return Fate.CARRIED

    def is_passable(self, message: Message) -> bool:
        """Return whether the message would be carried now."""
        link = NodeId(message.sender), NodeId(message.receiver)
        is_lost = link in self._cut or any(pattern.matches(message) for pattern in self._losing)
        return not is_lost and self._is_up(message.receiver)

    def take_held(self, pattern: Pattern) -> list[Held]:
        """Remove and return the held messages that match, the oldest first."""
        taken = [held for held in self.held if pattern.matches(held.message)]
        self.held = [held for held in self.held if not pattern.matches(held.message)]
        return taken

    def cut(self, links: Iterable[Link]) -> None:
        """Lose everything on these links from now on."""
        self._cut.update(links)

    def heal(self, links: Iterable[Link]) -> None:
        """Carry messages on these links again."""
        self._cut.difference_update(links)

    def lose(self, pattern: Pattern) -> None:
        """Lose matching messages from now on."""
        self._losing.append(pattern)

    def hold(self, pattern: Pattern) -> None:
        """Hold matching messages back from now on."""
        self._holding.append(pattern)

    def carry_everything(self) -> None:
        """End all `lose` and `hold`. Cut links stay cut, and held messages stay held."""
        self._losing.clear()
        self._holding.clear()
