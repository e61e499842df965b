"""Ranges of versions, in Kafka's notation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_HIGHEST = 0x7FFF  # A version is an int16 on the wire, so "4+" ends here.


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, with both ends; empty if `lowest` is above `highest`."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Return the range of "0-2", "3", "4+" or "none", as in Kafka's message files.

        Raises:
            ValueError: the text has another form.
        """
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), _HIGHEST)
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        if self.highest == _HIGHEST:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


ALL_VERSIONS = Versions.parse("0+")
NO_VERSIONS = Versions.parse("none")
