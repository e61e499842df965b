"""The network: which links carry, which messages it holds back or loses. It takes no time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum

from raft.types import NodeId
from tests.scenarios.harness.message import Message
from tests.scenarios.harness.pattern import Pattern

Link = tuple[NodeId, NodeId]
"""One direction: from, to."""


class Fate(Enum):
    """What becomes of a message that is sent."""

    CARRIED = ""
    HELD = " (held)"
    LOST = " (lost)"


class Network:
    """Messages under way. What is lost is lost in silence: the sender hears nothing, as behind a firewall.

    Fields:
        carried: to be delivered before any time passes, in the order they were sent.
        held: kept back until a command says what becomes of them.
    """

    def __init__(self) -> None:
        self.carried: deque[Message] = deque()
        self.held: list[Message] = []
        self._cut: set[Link] = set()
        self._losing: list[Pattern] = []
        self._holding: list[Pattern] = []

    def send(self, message: Message) -> Fate:
        """Take a message, and say what becomes of it for now."""
        if not self.is_passable(message):
            return Fate.LOST
        if any(pattern.matches(message) for pattern in self._holding):
            self.held.append(message)
            return Fate.HELD
        self.carried.append(message)
        return Fate.CARRIED

    def is_passable(self, message: Message) -> bool:
        """Whether nothing on the way loses this message now."""
        link = (message.sender, message.receiver)
        return link not in self._cut and not any(pattern.matches(message) for pattern in self._losing)

    def take_held(self, pattern: Pattern) -> list[Message]:
        """Remove and return the held messages that are meant, oldest first."""
        taken = [message for message in self.held if pattern.matches(message)]
        self.held = [message for message in self.held if not pattern.matches(message)]
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

    def calm(self) -> None:
        """Neither lose nor hold back by kind any more. Cut links stay cut, held messages held."""
        self._losing.clear()
        self._holding.clear()
