"""Dice that fall the same way each time. The core throws them for two things: election timeouts, and whom to ask for
the leader.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, cycle
from random import Random

from raft.types import NodeId
from tests.scenarios.harness.errors import ScenarioError


class Dice:
    """One node's dice.

    Args:
        base_ms: the election timeout T; a drawn one lies in [T, 2T).
        timeouts_ms: the election timeouts to draw, without end.
    """

    def __init__(self, *, base_ms: int, timeouts_ms: Iterator[int]) -> None:
        self._base_ms = base_ms
        self._timeouts_ms = timeouts_ms
        self._asked = count()

    @classmethod
    def loaded(cls, *, base_ms: int, timeouts_ms: tuple[int, ...]) -> Dice:
        """Dice that give these election timeouts in turn, and again from the first."""
        for timeout_ms in timeouts_ms:
            if not base_ms <= timeout_ms < 2 * base_ms:
                raise ScenarioError(f"no election timeout of {timeout_ms} ms comes from [{base_ms}, {2 * base_ms})")
        return cls(base_ms=base_ms, timeouts_ms=cycle(timeouts_ms))

    @classmethod
    def seeded(cls, *, base_ms: int, seed: int, node_id: NodeId) -> Dice:
        """Fair dice, the same for the same seed and node."""
        random = Random(f"{seed}/{node_id}")
        return cls(base_ms=base_ms, timeouts_ms=(base_ms + random.randrange(base_ms) for _ in count()))

    def draw(self, sides: int) -> int:
        """Throw: the next election timeout, or the next one in turn of those who may be asked.

        The two are told apart by the number of sides: nobody has as many voters as T has milliseconds.
        """
        if sides == self._base_ms:
            return next(self._timeouts_ms) - self._base_ms
        return next(self._asked) % sides


def own_timeout_ms(node_id: NodeId, base_ms: int) -> int:
    """The election timeout a node draws unless its scenario says otherwise: T and a tenth more for each id."""
    return base_ms + node_id * base_ms // 10 % base_ms
