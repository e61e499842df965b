"""Reads each record: which one is the newest of its key, and which ones are kept (`raft/native/compactor.c`)."""

from __future__ import annotations

import ctypes
import secrets

from raft.errors import DecodeError
from raft.native.library import FUNCTIONS, Outcome
from raft.records.header_fields import fields_at, write_checksum

_C = FUNCTIONS.unlocked

_C.compactor_new.argtypes = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64)
_C.compactor_new.restype = ctypes.c_void_p
for _of_batches in (_C.compactor_note, _C.compactor_retain):
    _of_batches.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
    _of_batches.restype = ctypes.c_int64
for _of_one in (_C.compactor_free, _C.compactor_finish, _C.compactor_taken):
    _of_one.argtypes, _of_one.restype = (ctypes.c_void_p,), None
_C.compactor_finished.argtypes, _C.compactor_finished.restype = (ctypes.c_void_p,), ctypes.c_int64
_C.compactor_bytes.argtypes, _C.compactor_bytes.restype = (ctypes.c_void_p,), ctypes.c_void_p


class Compactor:
    """Finds the newest record of each key, then copies those records, in batches of about 64 KiB.

    All batches are whole batches of data records, uncompressed, in the order of their offsets.

    Args:
        now_ms: wall clock, since 1970.
        delete_retention_ms: how long tombstones are kept after the first snapshot that has them.

    Raises:
        MemoryError: here or from a method, there is no memory.
    """

    def __init__(self, *, now_ms: int, delete_retention_ms: int) -> None:
        key = secrets.randbits(64), secrets.randbits(64)
        self._state = _C.compactor_new(*key, now_ms, now_ms + delete_retention_ms)
        if not self._state:
            raise MemoryError("no memory for a compactor")

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state:
            _C.compactor_free(state)

    def note(self, batches: bytes) -> None:
        """Count the records after the snapshot before. Each replaces the older ones of its key.

        Records without a key are left out.

        Raises:
            DecodeError: a record is malformed.
        """
        _check(_C.compactor_note(self._state, batches, len(batches)))

    def retain(self, batches: bytes) -> bytes:
        """Take the records of these batches that are kept; return the batches that are finished.

        A record is kept if no newer one of its key was noted, and it is no tombstone whose time is over. It keeps
        offset, timestamp, headers and epoch.

        Raises:
            DecodeError: a record is malformed.
        """
        _check(_C.compactor_retain(self._state, batches, len(batches)))
        return self._take()

    def finish(self) -> bytes:
        """Return the last batch; b"" if there is none."""
        _C.compactor_finish(self._state)
        return self._take()

    def _take(self) -> bytes:
        size = _C.compactor_finished(self._state)
        if not size:
            return b""
        batches = bytearray(ctypes.string_at(_C.compactor_bytes(self._state), size))
        _C.compactor_taken(self._state)
        position = 0
        while position < len(batches):
            size = fields_at(batches, position).size_bytes
            write_checksum(batches, position, size)
            position += size
        return bytes(batches)


def _check(outcome: int) -> None:
    if outcome == Outcome.NO_MEMORY:
        raise MemoryError("no memory for the keys of the log")
    if outcome:
        raise DecodeError("a record of the log is malformed")
