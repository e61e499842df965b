"""The scanner in Python, which is written to be easy to verify: tests compare `raft.records.scanner` with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from raft.errors import DecodeError
from raft.native.library import Outcome
from raft.records.scanner import Checked, Section, TimedRecord
from raft.records.varint import read_varint, read_varlong
from tests.oracles.murmur import murmur_hash

_INT64_LIMIT = 1 << 63
_CHECKSUM_MASK = (1 << 64) - 1
_US_PER_MS = 1000
_REFUSALS = (DecodeError, IndexError)
"""Errors of a malformed record. A record is sliced out first, so an index past its end raises IndexError."""


class Scanner(Protocol):
    """The functions of `raft.records.scanner`."""

    def check_records(self, section: Section, *, with_checksum: bool) -> Checked: ...

    def find_without_key(self, section: Section) -> int | None: ...

    def find_first(self, section: Section, timestamp_ms: int) -> TimedRecord | None: ...


class _Body(NamedTuple):
    """A record without its length, and the positions of its content and its headers."""

    data: bytes
    timestamp_delta_ms: int
    offset_delta: int
    content_at: int
    header_count: int
    headers_at: int


class PythonScanner:
    """The same results, a hundred times slower."""

    def check_records(self, section: Section, *, with_checksum: bool) -> Checked:
        records = bytes(memoryview(section.data)[section.start : section.end])
        position = checksum = index = 0
        previous_delta = -1
        for index in range(section.record_count):
            try:
                body, position = _read_body(records, position)
            except _REFUSALS:
                return Checked(Outcome.RECORD_MALFORMED, index, None)
            outcome = _check_body(section, body, previous_delta)
            if outcome is not Outcome.DONE:
                return Checked(outcome, index, None)
            previous_delta = body.offset_delta
            if with_checksum:
                checksum += murmur_hash(body.data[body.content_at :])
        if position != len(records):
            return Checked(Outcome.RECORD_MALFORMED, index, None)
        return Checked(Outcome.DONE, 0, checksum & _CHECKSUM_MASK if with_checksum else None)

    def find_without_key(self, section: Section) -> int | None:
        records = bytes(memoryview(section.data)[section.start : section.end])
        position = 0
        for index in range(section.record_count):
            body, position = _read_body(records, position)
            if read_varint(body.data, body.content_at)[0] < 0:
                return index
        return None

    def find_first(self, section: Section, timestamp_ms: int) -> TimedRecord | None:
        try:
            return next((record for record in _timed_records(section) if record.timestamp_ms >= timestamp_ms), None)
        except _REFUSALS:
            return None


def _timed_records(section: Section) -> Iterator[TimedRecord]:
    """Yield offset delta and timestamp of each record.

    Raises:
        DecodeError, IndexError: while iterating, at the first malformed record.
    """
    records = bytes(memoryview(section.data)[section.start : section.end])
    position = 0
    for _ in range(section.record_count):
        body, position = _read_body(records, position)
        timestamp_ms = _timestamp_ms(section, body)
        if not 0 <= body.offset_delta <= section.last_offset_delta or not -_INT64_LIMIT <= timestamp_ms < _INT64_LIMIT:
            raise DecodeError("an offset delta or a timestamp out of range")
        yield TimedRecord(body.offset_delta, timestamp_ms)


def _check_body(section: Section, body: _Body, previous_delta: int) -> Outcome:
    if not previous_delta < body.offset_delta <= section.last_offset_delta:
        return Outcome.OFFSETS_DISORDERED
    try:
        _check_headers(body)
    except _REFUSALS:
        return Outcome.RECORD_MALFORMED
    timestamp_us = _timestamp_ms(section, body) * _US_PER_MS
    return Outcome.DONE if -_INT64_LIMIT <= timestamp_us < _INT64_LIMIT else Outcome.TIMESTAMP_OVERFLOW


def _timestamp_ms(section: Section, body: _Body) -> int:
    return section.append_time_ms if section.has_append_time else section.base_timestamp_ms + body.timestamp_delta_ms


def _read_body(records: bytes, position: int) -> tuple[_Body, int]:
    """Return the record at `position`, without parsing its headers, and the position of the next record."""
    length, start = read_varint(records, position)
    end = start + length
    if length < 1 or end > len(records):
        raise DecodeError(f"a record of {length} bytes")
    data = records[start:end]
    timestamp_delta_ms, cursor = read_varlong(data, 1)
    offset_delta, content_at = read_varint(data, cursor)
    _, cursor = _skip_span(data, content_at)
    _, cursor = _skip_span(data, cursor)
    header_count, headers_at = read_varint(data, cursor)
    if header_count < 0:
        raise DecodeError(f"{header_count} headers")
    return _Body(data, timestamp_delta_ms, offset_delta, content_at, header_count, headers_at), end


def _check_headers(body: _Body) -> None:
    position = body.headers_at
    for _ in range(body.header_count):
        key_length, position = _skip_span(body.data, position)
        _, position = _skip_span(body.data, position)
        if key_length < 0:
            raise DecodeError("a header without a key")
    if position != len(body.data):
        raise DecodeError("bytes behind the last header")


def _skip_span(data: bytes, position: int) -> tuple[int, int]:
    """Return the length of the bytes at `position`, -1 for null, and the position after them."""
    length, start = read_varint(data, position)
    end = start + max(length, 0)
    if length < -1 or end > len(data):
        raise DecodeError(f"{length} bytes at byte {position}")
    return length, end
