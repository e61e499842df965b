"""The contract of a decoder: real inputs, the errors that it may raise for mutated ones, and its memory bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBound:
    """The bound of the peak memory of a decoding, with the result: `fixed_bytes + per_byte * size` of the input.

    A Python object is many times larger than its one or two bytes on the wire, so `per_byte` is well above 1, but it is
    a constant. `fixed_bytes` covers what does not depend on the input, such as the limit of decompressed bytes.
    """

    fixed_bytes: int
    per_byte: int

    def of(self, size_bytes: int) -> int:
        """Return the bound for an input of this size."""
        return self.fixed_bytes + self.per_byte * size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A real input.

    Fields:
        name: the name of the sample in failures.
        content: its bytes.
        decode: decodes these bytes, or mutated ones.
        is_refused: whether the decoder refuses the sample itself.
    """

    name: str
    content: bytes
    decode: Callable[[bytes], object]
    is_refused: bool = False


def untouched(random: Random, content: bytes) -> bytes:
    """Return the bytes unchanged."""
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A decoder, or several that read the same kind of bytes.

    Fields:
        name: the name of the format.
        samples: real inputs.
        refusals: the errors that it may raise; any other is a bug.
        bound: the bound of its memory.
        repair: repairs checksums of mutated bytes, so that the code behind them is reached.
        words: tokens of a text format that are inserted.
        share: its share of the inputs, relative to other decoders.
    """

    name: str
    samples: tuple[Sample, ...]
    refusals: tuple[type[Exception], ...]
    bound: MemoryBound
    repair: Callable[[Random, bytes], bytes] = untouched
    words: tuple[bytes, ...] = ()
    share: int = 1
