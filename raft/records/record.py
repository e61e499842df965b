"""One record, and the records of a batch one after the other.

    record        form
    length        varint     of the rest
    attributes    int8       unused: one byte, not a varint
    timestamp     varlong    minus the batch's base timestamp
    offset        varint     minus the batch's base offset
    key length    varint     -1 for none
    key           bytes
    value length  varint     -1 for none
    value         bytes
    header count  varint
      key length  varint     then the key in UTF-8
      value length varint    -1 for none, then the value

Source: KIP-98; Kafka DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.varint import read_varint, read_varlong, write_varint
from raft.types import Offset

NO_TIMESTAMP_MS = -1
"""The timestamp of a record without a time."""

RecordHeader = tuple[str, bytes | None]
"""A record's header: its key and its value. Keys may repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record.

    Fields:
        key, value: None is not the same as empty.
        headers: in the order in which they were written.
        timestamp_ms: since 1970, UTC; -1 for none.
        offset: in the log. A writer of batches gives offsets by order and ignores this one.
    """

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[RecordHeader, ...] = ()
    timestamp_ms: int = NO_TIMESTAMP_MS
    offset: Offset = Offset(0)


def write_record(record: Record, *, offset_delta: int, base_timestamp_ms: int) -> bytes:
    """Return the bytes of one record, with its length.

    Args:
        record: its offset is ignored.
        offset_delta: its offset minus the base offset of the batch.
        base_timestamp_ms: the base timestamp of the batch.
    """
    parts = [
        b"\x00",
        write_varint(record.timestamp_ms - base_timestamp_ms),
        write_varint(offset_delta),
        _field(record.key),
        _field(record.value),
        write_varint(len(record.headers)),
    ]
    for key, value in record.headers:
        parts.append(_field(key.encode()))
        parts.append(_field(value))
    body = b"".join(parts)
    return write_varint(len(body)) + body


def _field(data: bytes | None) -> bytes:
    return b"\x01" if data is None else write_varint(len(data)) + data


def read_records_section(
    section: bytes,
    *,
    record_count: int,
    base_offset: Offset,
    last_offset_delta: int,
    base_timestamp_ms: int,
    append_time_ms: int | None,
) -> Iterator[Record]:
    """Yield the records of a batch.

    Args:
        section: the bytes after the batch's header, decompressed.
        record_count: the exact number of records.
        base_offset: of the batch.
        last_offset_delta: the highest offset delta of a record.
        base_timestamp_ms: the base of the timestamp deltas.
        append_time_ms: the timestamp of all records with LogAppendTime; None for CreateTime.

    Raises:
        DecodeError: while iterating, at the first malformed record.
    """
    position = 0
    previous_delta = -1
    for _ in range(record_count):
        try:
            record, position = _read_record(section, position, base_offset, base_timestamp_ms, append_time_ms)
        except IndexError as error:
            raise DecodeError(f"record at byte {position} is incomplete") from error
        delta = record.offset - base_offset
        if not previous_delta < delta <= last_offset_delta:
            raise DecodeError(
                f"record with offset delta {delta}, expected one after {previous_delta} and up to {last_offset_delta}"
            )
        previous_delta = delta
        yield record
    if position != len(section):
        raise DecodeError(f"{len(section) - position} bytes after the last of {record_count} records")


def _read_record(
    section: bytes, position: int, base_offset: Offset, base_timestamp_ms: int, append_time_ms: int | None
) -> tuple[Record, int]:
    length, start = read_varint(section, position)
    end = start + length
    if length < 1 or end > len(section):
        raise DecodeError(f"record at byte {position} has a length of {length} with {len(section) - start} bytes left")
    timestamp_delta, cursor = read_varlong(section, start + 1)
    offset_delta, cursor = read_varint(section, cursor)
    key, cursor = _read_field(section, cursor, end)
    value, cursor = _read_field(section, cursor, end)
    headers, cursor = _read_headers(section, cursor, end)
    if cursor != end:
        raise DecodeError(f"record at byte {position} has a length of {length} and {cursor - start} bytes of fields")
    record = Record(
        key=key,
        value=value,
        headers=headers,
        timestamp_ms=base_timestamp_ms + timestamp_delta if append_time_ms is None else append_time_ms,
        offset=Offset(base_offset + offset_delta),
    )
    return record, end


def _read_headers(section: bytes, position: int, end: int) -> tuple[tuple[RecordHeader, ...], int]:
    count, position = read_varint(section, position)
    if not count:
        return (), position
    # A header has two bytes or more, so the count cannot make the loop longer than the record.
    if count < 0 or count > (end - position) // 2:
        raise DecodeError(f"{count} headers in {end - position} bytes")
    headers: list[RecordHeader] = []
    for _ in range(count):
        key, position = _read_field(section, position, end)
        value, position = _read_field(section, position, end)
        if key is None:
            raise DecodeError("a record header has no key")
        # Invalid UTF-8 in a key is replaced, as by Java's clients, so the record can be read.
        headers.append((key.decode(errors="replace"), value))
    return tuple(headers), position


def _read_field(section: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(section, position)
    if length == -1:
        return None, position
    stop = position + length
    if length < 0 or stop > end:
        raise DecodeError(f"field of {length} bytes at byte {position} of a record that ends at byte {end}")
    return section[position:stop], stop
