"""The random numbers of a run, drawn from its seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Option = TypeVar("Option")


class Dice:
    """One stream of random numbers.

    Each part of the world has its own stream, so that one more draw in one part does not change the others.

    Args:
        seed: the seed of the run.
        purpose: the name of the stream.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        # The seed is the string itself, because its hash differs from process to process.
        self._random = Random(f"{seed}/{purpose}")

    def draw(self, sides: int) -> int:
        """Return a number from 0 to sides - 1."""
        return int(self._random.random() * sides)

    def chance(self, percent: int) -> bool:
        """Return True with this probability, in percent."""
        return percent > 0 and self._random.random() * 100 < percent

    def between(self, bounds: tuple[int, int]) -> int:
        """Return a number within the bounds, both included."""
        lowest, highest = bounds
        return lowest + self.draw(highest - lowest + 1)

    def pick(self, options: Sequence[Option]) -> Option:
        """Return one of the options."""
        return options[self.draw(len(options))]

    def some(self, options: Sequence[Option], count: int) -> list[Option]:
        """Return `count` different options, in random order."""
        return self._random.sample(list(options), count)

    def bytes(self, count: int) -> bytes:
        """Return `count` random bytes."""
        return self._random.randbytes(count)
