"""The scanner in C, called through ctypes: a library beside this file that any version of Python can load."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

from raft.records.native_library import COMPILED, check_version, library_beside
from raft.records.scanner import SOUND, Checked, Outcome, Section, TimedRecord

SCANNER_VERSION = 2
"""Version of the structures and calls below; `scanner.c` has the same."""

LIBRARY = library_beside(__file__, "scanner")

_UNLOCKED_FROM_BYTES = 64 << 10
"""From this size on, the interpreter's lock is released during a call. For less it is not, because a thread may wait
several milliseconds to get it back."""


_SECTION = struct.Struct("=7q")
"""`struct section`. It is packed, because filling a structure of ctypes takes three times as long."""


class _CheckedStructure(ctypes.Structure):
    """`struct checked`."""

    _fields_ = (
        ("outcome", ctypes.c_int64),
        ("failed_record", ctypes.c_int64),
        ("content_checksum", ctypes.c_uint64),
    )


class _FoundStructure(ctypes.Structure):
    """`struct found`."""

    _fields_ = (
        ("is_found", ctypes.c_int64),
        ("offset_delta", ctypes.c_int64),
        ("timestamp_ms", ctypes.c_int64),
    )


class CompiledScanner:
    """The interface `Scanner`, implemented by the library.

    Args:
        library: the shared library that `build_kernel.py` compiled from `scanner.c`.

    Raises:
        OSError: the library does not exist, or is not for this machine.
        ValueError: it was compiled from another version of `scanner.c`.
    """

    name = COMPILED

    def __init__(self, library: Path) -> None:
        unlocked, locked = ctypes.CDLL(str(library)), ctypes.PyDLL(str(library))
        check_version(locked, "scanner_version", SCANNER_VERSION)
        for functions in (unlocked, locked):
            functions.check_records.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
            functions.check_records.restype = _CheckedStructure
            functions.find_first.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
            functions.find_first.restype = _FoundStructure
            functions.find_without_key.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
            functions.find_without_key.restype = ctypes.c_int64
        self._find_without_key = unlocked.find_without_key
        self._check, self._check_unlocked = locked.check_records, unlocked.check_records
        self._find_first = unlocked.find_first

    def check(self, section: Section, *, with_checksum: bool) -> Checked:
        """See `Scanner.check`."""
        is_small = section.end - section.start < _UNLOCKED_FROM_BYTES
        function = self._check if is_small else self._check_unlocked
        checked = function(_address(section.data), _packed(section), with_checksum)
        if checked.outcome:
            return Checked(Outcome(checked.outcome), checked.failed_record, None)
        return Checked(Outcome.DONE, 0, checked.content_checksum) if with_checksum else SOUND

    def find_without_key(self, section: Section) -> int | None:
        """See `Scanner.find_without_key`."""
        index = self._find_without_key(_address(section.data), _packed(section))
        return index if index >= 0 else None

    def find_first(self, section: Section, timestamp_ms: int) -> TimedRecord | None:
        """See `Scanner.find_first`."""
        found = self._find_first(_address(section.data), _packed(section), timestamp_ms)
        return TimedRecord(found.offset_delta, found.timestamp_ms) if found.is_found else None


def _address(data: bytes | memoryview) -> object:
    """Return the address of the bytes for ctypes; the caller keeps `data` alive during the call."""
    if not isinstance(data, memoryview):
        return data
    return ctypes.byref(ctypes.c_char.from_buffer(data)) if data else b""


def _packed(section: Section) -> bytes:
    return _SECTION.pack(*section[1:])
