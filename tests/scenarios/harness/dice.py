"""Random numbers that a scenario decides: election timeouts, and the bootstrap server that a core tries next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, cycle
from random import Random

from raft.types import NodeId
from tests.scenarios.harness.errors import ScenarioError


class Dice:
    """The random numbers of one node's core, in the place of `tests.simulation.dice.Dice`.

    Args:
        base_ms: the election timeout T; drawn ones are in [T, 2T).
        timeouts_ms: the election timeouts to draw, without end.
    """

    def __init__(self, *, base_ms: int, timeouts_ms: Iterator[int]) -> None:
        self._base_ms = base_ms
        self._timeouts_ms = timeouts_ms
        self._servers = count()

    @classmethod
    def repeating(cls, *, base_ms: int, timeouts_ms: tuple[int, ...]) -> Dice:
        """Return dice that draw these election timeouts in turn, and again from the first."""
        for timeout_ms in timeouts_ms:
            if not base_ms <= timeout_ms < 2 * base_ms:
                raise ScenarioError(f"no election timeout of {timeout_ms} ms is drawn from [{base_ms}, {2 * base_ms})")
        return cls(base_ms=base_ms, timeouts_ms=cycle(timeouts_ms))

    @classmethod
    def seeded(cls, *, base_ms: int, seed: int, node_id: NodeId) -> Dice:
        """Return dice that draw random timeouts, the same for the same seed and node."""
        random = Random(f"{seed}/{node_id}")
        return cls(base_ms=base_ms, timeouts_ms=(base_ms + random.randrange(base_ms) for _ in count()))

    def draw(self, sides: int) -> int:
        """Draw the next election timeout, or the next bootstrap server in turn.

        They differ in the number of sides: no quorum has as many voters as T has milliseconds.
        """
        if sides == self._base_ms:
            return next(self._timeouts_ms) - self._base_ms
        return next(self._servers) % sides


def own_timeout_ms(node_id: NodeId, base_ms: int) -> int:
    """Return the election timeout that a node draws by default: T, and a tenth of T times its id."""
    return base_ms + node_id * base_ms // 10 % base_ms
