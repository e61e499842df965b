"""One kind of attack: some connections at a time, each for one round, and then new ones without a pause."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from raft.types import Endpoint
from tests.hostile.connection import Connection
from tests.hostile.scene import Scene
from tests.hostile.ways import Way, Ways


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackInputs:
    """The arguments of every attack.

    Fields:
        scene: the attacked quorum.
        recordings: the requests of a real client's session, each a frame with its size.
        proofs: those by which that client has proved its name; none if the quorum is open.
        dice: decides what is random in an attack.
        ways: opens the connections.
    """

    scene: Scene
    recordings: Sequence[bytes]
    proofs: Sequence[bytes]
    dice: Random
    ways: Ways


class Attack(ABC):
    """One kind of attack.

    Attributes:
        width: how many of its connections are open at a time.
        receive_buffer_bytes: see `Connection.connect`.
        is_refused: whether the node closes each of its connections. When the attack is over, the rounds that have begun
            end by that, however busy the machine was.
        counted: fields of `SecurityCounts` that a node raises, if the quorum is secured.
    """

    width: ClassVar[int] = 1
    receive_buffer_bytes: ClassVar[int | None] = None
    is_refused: ClassVar[bool] = False
    counted: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inputs: AttackInputs) -> None:
        self.scene = inputs.scene
        self.recordings = inputs.recordings
        self.proofs = inputs.proofs
        self.dice = inputs.dice
        self.ways = inputs.ways

    def target(self) -> Endpoint:
        """Return the listener for the next round; every second time it is the leader's."""
        return self.scene.leader if self.dice.random() < 0.5 else self.dice.choice(self.scene.client_endpoints)

    def way(self) -> Way:
        """Return how the connection of the next round is opened."""
        return self.ways.usual()

    @abstractmethod
    async def round(self, connection: Connection) -> None:
        """Run one round on a new connection, which is closed afterwards.

        Raises:
            OSError, asyncio.IncompleteReadError: the node closed the connection.
        """
