"""The compactor in C, called through ctypes: a library beside this file that any version of Python can load."""

from __future__ import annotations

import ctypes
import secrets
import struct
from pathlib import Path

from crc32c import crc32c

from raft.errors import DecodeError
from raft.records.header import CHECKED_FROM, batch_size_bytes
from raft.records.native_library import COMPILED, check_version, library_beside

COMPACTOR_VERSION = 1
"""Version of the calls below; `compactor.c` has the same."""

LIBRARY = library_beside(__file__, "compactor")

_NO_MEMORY = -4
_CHECKSUM = struct.Struct(">I")


class CompactorLibrary:
    """The functions of the library.

    Args:
        library: the shared library that `build_kernel.py` compiled from `compactor.c`.

    Raises:
        OSError: the library does not exist, or is not for this machine.
        ValueError: it was compiled from another version of `compactor.c`.
    """

    def __init__(self, library: Path) -> None:
        loaded = ctypes.CDLL(str(library))
        check_version(loaded, "compactor_version", COMPACTOR_VERSION)
        self.new, self.free = loaded.compactor_new, loaded.compactor_free
        self.note, self.retain, self.finish = loaded.compactor_note, loaded.compactor_retain, loaded.compactor_finish
        self.finished, self.bytes, self.taken = (
            loaded.compactor_finished,
            loaded.compactor_bytes,
            loaded.compactor_taken,
        )
        self.new.argtypes = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64)
        self.new.restype = ctypes.c_void_p
        for of_batches in (self.note, self.retain):
            of_batches.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
            of_batches.restype = ctypes.c_int64
        for of_one in (self.free, self.finish, self.finished, self.bytes, self.taken):
            of_one.argtypes = (ctypes.c_void_p,)
            of_one.restype = None
        self.finished.restype = ctypes.c_int64
        self.bytes.restype = ctypes.c_void_p


class CompiledCompactor:
    """See `Compactor`.

    Args:
        library: the functions in C.
        now_ms: wall clock, since 1970.
        delete_retention_ms: how long tombstones are kept after the first snapshot that has them.

    Raises:
        MemoryError: there is no memory.
    """

    name = COMPILED

    def __init__(self, library: CompactorLibrary, *, now_ms: int, delete_retention_ms: int) -> None:
        self._library = library
        key = secrets.randbits(64), secrets.randbits(64)
        self._state = library.new(*key, now_ms, now_ms + delete_retention_ms)
        if not self._state:
            raise MemoryError("no memory for a compactor")

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state:
            self._library.free(state)

    def note(self, batches: bytes) -> None:
        """See `Compactor.note`."""
        _check(self._library.note(self._state, batches, len(batches)))

    def retain(self, batches: bytes) -> bytes:
        """See `Compactor.retain`."""
        _check(self._library.retain(self._state, batches, len(batches)))
        return self._take()

    def finish(self) -> bytes:
        """See `Compactor.finish`."""
        self._library.finish(self._state)
        return self._take()

    def _take(self) -> bytes:
        size = self._library.finished(self._state)
        if not size:
            return b""
        batches = bytearray(ctypes.string_at(self._library.bytes(self._state), size))
        self._library.taken(self._state)
        position = 0
        while position < len(batches):
            end = position + (batch_size_bytes(bytes(batches[position : position + CHECKED_FROM])) or 0)
            with memoryview(batches) as view:
                checksum = crc32c(view[position + CHECKED_FROM : end])
            _CHECKSUM.pack_into(batches, position + CHECKED_FROM - _CHECKSUM.size, checksum)
            position = end
        return bytes(batches)


def _check(outcome: int) -> None:
    if outcome == _NO_MEMORY:
        raise MemoryError("no memory for the keys of the log")
    if outcome:
        raise DecodeError("a record of the log is malformed")
