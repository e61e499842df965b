"""Rows as plain Python values, for comparing; and a slow reader of batches.

It shares no line with the code under test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from datasource.columns import Decoded, decode
from datasource.columns.kernel import Kernel

EVERYTHING = 2**63 - 1
"""An end offset that no record reaches."""

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a reader sees of a record."""

    key: bytes | None
    value: bytes | None
    offset: int
    timestamp_ms: int
    epoch: int
    headers: Headers = ()


def decode_all(data: bytes, kernel: Kernel) -> Decoded:
    """Decode everything there is, with headers."""
    return decode(data, start_offset=0, end_offset=EVERYTHING, headers=True, kernel=kernel)


def decoded_rows(decoded: Decoded) -> list[Row]:
    """Return the rows of a response that was decoded with headers, and iterate it to its end."""
    return [row for record_batch in decoded.record_batches for row in arrow_rows(record_batch)]


def arrow_rows(record_batch: pa.RecordBatch) -> list[Row]:
    """Return the rows of a record batch that has headers, after a check that it is valid Arrow."""
    record_batch.validate(full=True)
    columns = {name: record_batch.column(name) for name in ("key", "value", "offset", "epoch", "headers")}
    timestamps_us = record_batch.column("timestamp").cast(pa.int64()).to_pylist()
    lists = [column.to_pylist() for column in columns.values()]
    return [
        Row(
            key=key,
            value=value,
            offset=offset,
            timestamp_ms=timestamp_us // 1000,
            epoch=epoch,
            headers=tuple((header["key"], header["value"]) for header in headers or ()),
        )
        for key, value, offset, epoch, headers, timestamp_us in zip(*lists, timestamps_us, strict=True)
    ]


class PlainReader:
    """Reads batches that are not compressed from their first byte to their last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def read_rows(self) -> list[Row]:
        """Return all records, whatever batch they are in."""
        rows: list[Row] = []
        while self._position < len(self._data):
            rows += self._read_batch()
        return rows

    def _read_batch(self) -> Iterable[Row]:
        base_offset = self._integer(8)
        end = self._integer(4) + self._position
        epoch = self._integer(4)
        assert self._integer(1) == 2
        self._integer(4)
        attributes = self._integer(2)
        assert attributes & 7 == 0
        self._integer(4)
        base_timestamp_ms, max_timestamp_ms = self._integer(8), self._integer(8)
        self._integer(8 + 2 + 4)
        for _ in range(self._integer(4)):
            record_end = self._varint() + self._position
            self._integer(1)
            timestamp_ms = base_timestamp_ms + self._varint()
            yield Row(
                offset=base_offset + self._varint(),
                timestamp_ms=max_timestamp_ms if attributes & 8 else timestamp_ms,
                epoch=epoch,
                key=self._bytes(),
                value=self._bytes(),
                headers=tuple(((self._bytes() or b"").decode(), self._bytes()) for _ in range(self._varint())),
            )
            assert self._position == record_end
        assert self._position == end

    def _integer(self, size: int) -> int:
        self._position += size
        return int.from_bytes(self._data[self._position - size : self._position], "big", signed=True)

    def _varint(self) -> int:
        value = shift = 0
        more = True
        while more:
            byte = self._data[self._position]
            self._position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            more = byte >= 0x80
        return value // 2 if value % 2 == 0 else -(value + 1) // 2

    def _bytes(self) -> bytes | None:
        length = self._varint()
        if length == -1:
            return None
        self._position += length
        return self._data[self._position - length : self._position]


def read_plainly(*batches: bytes) -> list[Row]:
    """Return the rows of batches that follow each other."""
    return PlainReader(b"".join(batches)).read_rows()


def rows_to_write(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows as a writer gets them from Spark; an empty tuple of headers becomes null."""
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    headers = [[{"key": key, "value": value} for key, value in row.headers] or None for row in rows]
    return pa.record_batch(
        {
            "key": pa.array([row.key for row in rows], pa.binary()),
            "value": pa.array([row.value for row in rows], pa.binary()),
            "headers": pa.array(headers, pa.list_(header)),
        }
    )
