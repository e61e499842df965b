"""Decoders that break their promise, each in its own way: what the fuzzer is for, it must find."""

from __future__ import annotations

import mmap
import os
import signal
from collections.abc import Callable

from tests.fuzz.decoder import Decoder, MemoryBound, Sample

KEPT: list[object] = []
"""What is hoarded where no one counts."""


def _is_bent(content: bytes) -> bool:
    # The sample itself goes well: it is decoded before the fuzzing begins.
    return content != _CONTENT


def _raise_another_error(content: bytes) -> None:
    if _is_bent(content):
        raise KeyError("an unknown tag")


def _raise_what_is_no_exception(content: bytes) -> None:
    if _is_bent(content):
        raise _PanicError


class _PanicError(BaseException):
    """As libraries written in Rust raise."""


def _take_what_a_length_claims(content: bytes) -> None:
    if _is_bent(content):
        bytearray(1 << 20)


def _take_what_python_does_not_see(content: bytes) -> None:
    if _is_bent(content):
        KEPT.append(mmap.mmap(-1, 1 << 30))


def _crash(content: bytes) -> None:
    if _is_bent(content):
        os.kill(os.getpid(), signal.SIGSEGV)


def _never_end(content: bytes) -> None:
    while _is_bent(content):
        pass


_CONTENT = b"a real input"


def _table(name: str, decode: Callable[[bytes], object]) -> tuple[Decoder, ...]:
    bound = MemoryBound(fixed_bytes=64 << 10, per_byte=8)
    sample = Sample(name="sample", content=_CONTENT, decode=decode)
    return (Decoder(name=name, samples=(sample,), refusals=(ValueError,), bound=bound),)


RAISES = _table("raises", _raise_another_error)
PANICS = _table("panics", _raise_what_is_no_exception)
HOARDS = _table("hoards", _take_what_a_length_claims)
HOARDS_UNSEEN = _table("hoards unseen", _take_what_python_does_not_see)
CRASHES = _table("crashes", _crash)
HANGS = _table("hangs", _never_end)
