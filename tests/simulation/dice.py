"""All chance of a run, from its seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Option = TypeVar("Option")


class Dice:
    """One stream of chance.

    Each part of the world has a stream of its own, so that one more throw in one part does not change what all the
    others see.

    Args:
        seed: of the run.
        purpose: whose stream it is.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        # A text, not a hash of it: hashes of texts differ from process to process.
        self._random = Random(f"{seed}/{purpose}")

    def draw(self, sides: int) -> int:
        """Return a number from 0 to sides - 1."""
        return int(self._random.random() * sides)

    def chance(self, percent: int) -> bool:
        """Return True so often in a hundred throws."""
        return percent > 0 and self._random.random() * 100 < percent

    def between(self, bounds: tuple[int, int]) -> int:
        """Return a number within bounds, both included."""
        lowest, highest = bounds
        return lowest + self.draw(highest - lowest + 1)

    def pick(self, options: Sequence[Option]) -> Option:
        """Return one of several."""
        return options[self.draw(len(options))]

    def some(self, options: Sequence[Option], count: int) -> list[Option]:
        """Return so many different ones, in any order."""
        return self._random.sample(list(options), count)

    def bytes(self, count: int) -> bytes:
        """Return so many random bytes."""
        return self._random.randbytes(count)
