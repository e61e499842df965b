"""One kind of attack: some connections at a time, each for one round, then new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from raft.types import Endpoint
from tests.hostile.scene import Scene
from tests.hostile.stranger import Stranger


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an attack has at hand.

    Fields:
        scene: the quorum.
        recordings: the requests of a real client's session, each a frame with its size.
        dice: decide what is left open.
    """

    scene: Scene
    recordings: Sequence[bytes]
    dice: Random


class Attack(ABC):
    """One kind of attack.

    Attributes:
        width: how many of its connections are open at a time.
        pause_s: between two rounds of one of them. It bounds the rate of an attack: who saturates the processors of a
            node by valid requests slows it down whatever it does, and here shares them with it.
        receive_buffer_bytes: see `Stranger.connect`.
    """

    width: ClassVar[int] = 1
    pause_s: ClassVar[float] = 0.5
    receive_buffer_bytes: ClassVar[int | None] = None

    def __init__(self, means: Means) -> None:
        self.scene = means.scene
        self.recordings = means.recordings
        self.dice = means.dice

    def target(self) -> Endpoint:
        """The listener that the next round is played against: the leader's every second time."""
        return self.scene.leader if self.dice.random() < 0.5 else self.dice.choice(self.scene.client_endpoints)

    @abstractmethod
    async def round(self, stranger: Stranger) -> None:
        """Play one round on a new connection, which is closed at the end of it.

        Raises:
            OSError, asyncio.IncompleteReadError: the node closed the connection.
        """
