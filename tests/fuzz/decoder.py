"""What is fuzzed: a decoder with real inputs, what it may raise at bent ones, and how much memory it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBound:
    """Most memory that decoding may take at its peak, with the result: `fixed_bytes + per_byte * size` of the input.

    A Python object is many times larger than the byte or two that stand for the smallest of them on the wire, so
    `per_byte` is not near 1; that it is a constant is the point. `fixed_bytes` covers what does not depend on the
    input, and for what is compressed the declared limit of what may come out.
    """

    fixed_bytes: int
    per_byte: int

    def of(self, size_bytes: int) -> int:
        """The bound for an input of this size."""
        return self.fixed_bytes + self.per_byte * size_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A real input.

    Fields:
        name: says in failures which one was bent.
        content: its bytes.
        decode: reads these bytes, or what became of them, and keeps to it that it returns or refuses.
        is_refused: whether they are refused as they are, and only damage could make them pass.
    """

    name: str
    content: bytes
    decode: Callable[[bytes], object]
    is_refused: bool = False


def untouched(dice: Random, content: bytes) -> bytes:
    """Leave bent bytes as they are."""
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """A decoder, or several that read the same kind of bytes.

    Fields:
        name: of the kind of bytes.
        samples: real inputs.
        refusals: the errors that it declares; any other is a bug.
        bound: of its memory.
        mend: repairs bent bytes where nothing behind a checksum would be reached otherwise.
        words: pieces of text that mean something in these bytes, to be put in.
        share: how many inputs it gets, compared with others.
    """

    name: str
    samples: tuple[Sample, ...]
    refusals: tuple[type[Exception], ...]
    bound: MemoryBound
    mend: Callable[[Random, bytes], bytes] = untouched
    words: tuple[bytes, ...] = ()
    share: int = 1
