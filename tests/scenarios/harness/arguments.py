"""The words of a command line: plain words in order, and options `key=value` anywhere."""

from __future__ import annotations

from raft.types import Epoch, NodeId, Offset
from tests.scenarios.harness.errors import ScenarioError


class Arguments:
    """The arguments of a command. A command has to take all of them."""

    def __init__(self, line: str) -> None:
        words = line.split()
        self._options = dict(word.split("=", 1) for word in words if "=" in word)
        self._words = [word.strip(",:") for word in words if "=" not in word]

    @property
    def has_words(self) -> bool:
        """Whether plain words are left."""
        return bool(self._words)

    def peek(self) -> str:
        """Return the next word without taking it; "" at the end."""
        return self._words[0] if self._words else ""

    def word(self) -> str:
        """Take the next word."""
        if not self._words:
            raise ScenarioError("a word is missing at the end")
        return self._words.pop(0)

    def expect(self, *words: str) -> None:
        """Take words that must come next."""
        for word in words:
            found = self.word()
            if found != word:
                raise ScenarioError(f"`{found}` where `{word}` was expected")

    def number(self) -> int:
        """Take a number."""
        return whole_number(self.word())

    def node(self) -> NodeId:
        """Take a node's id."""
        return NodeId(self.number())

    def nodes(self) -> tuple[NodeId, ...]:
        """Take all remaining words as node ids."""
        found = []
        while self.has_words:
            found.append(self.node())
        return tuple(found)

    def option(self, key: str) -> str | None:
        """Take an option; None when it is not given."""
        return self._options.pop(key, None)

    def number_option(self, key: str, default: int) -> int:
        """Take an option that is a number."""
        value = self.option(key)
        return default if value is None else whole_number(value)

    def required(self, key: str) -> int:
        """Take an option that has to be there and is a number."""
        value = self.option(key)
        if value is None:
            raise ScenarioError(f"`{key}=` is missing")
        return whole_number(value)

    def numbers_option(self, key: str) -> tuple[int, ...]:
        """Take an option that is a list of numbers; empty when it is not given."""
        value = self.option(key)
        return tuple(whole_number(number) for number in value.split(",")) if value else ()

    def finish(self) -> None:
        """Check that everything was taken."""
        left = [*self._words, *(f"{key}={value}" for key, value in self._options.items())]
        if left:
            raise ScenarioError(f"`{' '.join(left)}` is not understood here")


def whole_number(word: str) -> int:
    """Read a number from 0."""
    if not word.isdecimal():
        raise ScenarioError(f"`{word}` is not a number")
    return int(word)


def epoch_and_offset(word: str) -> tuple[Epoch, Offset]:
    """Read `3@10`: epoch 3 starts at offset 10."""
    epoch, _, offset = word.partition("@")
    return Epoch(whole_number(epoch)), Offset(whole_number(offset))
