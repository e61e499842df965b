"""Decoders that violate their contract, each in its own way, to test the fuzzer."""

from __future__ import annotations

import mmap
import os
import signal
from collections.abc import Callable

import pyarrow as pa

from tests.fuzz.decoder import Decoder, MemoryBound, Sample

KEPT: list[object] = []
"""Memory that is allocated outside of Python and kept."""


def _is_mutated(content: bytes) -> bool:
    # The sample itself is decoded before the fuzzing begins, and has to succeed.
    return content != _CONTENT


def _raise_another_error(content: bytes) -> None:
    if _is_mutated(content):
        raise KeyError("an unknown tag")


def _raise_a_base_exception(content: bytes) -> None:
    if _is_mutated(content):
        raise _PanicError


class _PanicError(BaseException):
    """An error as libraries written in Rust raise it."""


def _allocate_too_much(content: bytes) -> None:
    if _is_mutated(content):
        bytearray(1 << 20)


def _allocate_in_arrow(content: bytes) -> None:
    if _is_mutated(content):
        pa.allocate_buffer(64 << 20)


def _allocate_outside_python(content: bytes) -> None:
    if _is_mutated(content):
        KEPT.append(mmap.mmap(-1, 1 << 30))


def _crash(content: bytes) -> None:
    if _is_mutated(content):
        os.kill(os.getpid(), signal.SIGSEGV)


def _loop(content: bytes) -> None:
    while _is_mutated(content):
        pass


_CONTENT = b"a real input"


def _table(name: str, decode: Callable[[bytes], object]) -> tuple[Decoder, ...]:
    bound = MemoryBound(fixed_bytes=64 << 10, per_byte=8)
    sample = Sample(name="sample", content=_CONTENT, decode=decode)
    return (Decoder(name=name, samples=(sample,), refusals=(ValueError,), bound=bound),)


RAISES = _table("raises", _raise_another_error)
PANICS = _table("panics", _raise_a_base_exception)
OVERALLOCATES = _table("overallocates", _allocate_too_much)
OVERALLOCATES_IN_ARROW = _table("overallocates in Arrow", _allocate_in_arrow)
OVERALLOCATES_OUTSIDE_PYTHON = _table("overallocates outside Python", _allocate_outside_python)
CRASHES = _table("crashes", _crash)
HANGS = _table("hangs", _loop)
