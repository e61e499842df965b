"""Reads the records of one batch without making objects of them: the functions of `raft/native/scanner.c`."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import NamedTuple

from raft.errors import DecodeError
from raft.native.library import FUNCTIONS, Outcome

_UNLOCKED_FROM_BYTES = 64 << 10
"""From this size on, the interpreter's lock is released during a check. For less it is not, because a thread may wait
several milliseconds to get it back."""

_SECTION = struct.Struct("=7q")
"""`struct section`. It is packed, because filling a structure of ctypes takes three times as long."""

_REASONS = {
    Outcome.RECORD_MALFORMED: "it is malformed",
    Outcome.OFFSETS_DISORDERED: "its offset is not higher than the one before, or lies outside the batch",
    Outcome.TIMESTAMP_OVERFLOW: "its timestamp in microseconds does not fit into 64 bits",
}


class Section(NamedTuple):
    """The records of one batch, and the fields of its header that a scanner needs.

    Fields:
        data: has the records, decompressed.
        start, end: their position in `data`; never outside of it.
        record_count: the exact number of records.
        last_offset_delta: the highest offset delta of a record.
        base_timestamp_ms: the base of the timestamp deltas.
        append_time_ms: the timestamp of all records if `has_append_time` (LogAppendTime).
    """

    data: bytes | memoryview
    start: int
    end: int
    record_count: int
    last_offset_delta: int
    base_timestamp_ms: int
    append_time_ms: int
    has_append_time: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    Fields:
        outcome: DONE if every reader can read the records.
        failed_record: index of the record at which the check failed.
        content_checksum: see `BatchHeader`; None if it was not asked for, or the check failed.
    """

    outcome: Outcome
    failed_record: int
    content_checksum: int | None

    def refusal(self) -> DecodeError:
        """Return the error for the record at which the check failed."""
        return DecodeError(f"record {self.failed_record} of the batch: {_REASONS[self.outcome]}")


SOUND = Checked(Outcome.DONE, 0, None)
"""The result of nearly every check."""


@dataclass(frozen=True, slots=True)
class TimedRecord:
    """A record found by its timestamp: offset delta and timestamp."""

    offset_delta: int
    timestamp_ms: int


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


_check, _check_unlocked = FUNCTIONS.locked.check_records, FUNCTIONS.unlocked.check_records
for _function in (_check, _check_unlocked):
    _function.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
    _function.restype = _CheckedStructure
_find_first = FUNCTIONS.unlocked.find_first
_find_first.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
_find_first.restype = _FoundStructure
_find_without_key = FUNCTIONS.unlocked.find_without_key
_find_without_key.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_find_without_key.restype = ctypes.c_int64


def check_records(section: Section, *, with_checksum: bool) -> Checked:
    """Check that every reader can read all records, and that nothing lies after them.

    Args:
        section: the records.
        with_checksum: compute the content checksum.
    """
    is_small = section.end - section.start < _UNLOCKED_FROM_BYTES
    function = _check if is_small else _check_unlocked
    checked = function(_address(section.data), _packed(section), with_checksum)
    if checked.outcome:
        return Checked(Outcome(checked.outcome), checked.failed_record, None)
    return Checked(Outcome.DONE, 0, checked.content_checksum) if with_checksum else SOUND


def find_without_key(section: Section) -> int | None:
    """Return the index of the first record without a key; None if all have one. The records were checked."""
    index = _find_without_key(_address(section.data), _packed(section))
    return index if index >= 0 else None


def find_first(section: Section, timestamp_ms: int) -> TimedRecord | None:
    """Return the first record whose timestamp is `timestamp_ms` or later; None if there is none.

    A record after a malformed one is not found.
    """
    found = _find_first(_address(section.data), _packed(section), timestamp_ms)
    return TimedRecord(found.offset_delta, found.timestamp_ms) if found.is_found else None


def _address(data: bytes | memoryview) -> object:
    """Return the address of the bytes for ctypes; the caller keeps `data` alive during the call."""
    if not isinstance(data, memoryview):
        return data
    return ctypes.byref(ctypes.c_char.from_buffer(data)) if data else b""


def _packed(section: Section) -> bytes:
    return _SECTION.pack(*section[1:])
