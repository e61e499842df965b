"""The kernel in Python, one record at a time, which is written to be easy to verify.

It gives the same results and the same errors as the one in C, about a hundred times slower; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datasource.columns.batch_table import Batches
from datasource.columns.kernel import Kernel, refused_record
from datasource.columns.rows import Rows
from datasource.columns.schema import read_schema
from raft.errors import DecodeError
from raft.native.library import Outcome
from raft.records.header_fields import LOG_APPEND_TIME
from raft.records.record import Record, read_records_section, write_record
from raft.records.scanner import Section
from raft.types import Offset
from tests.oracles.scanner import PythonScanner

_INT64_LIMIT = 1 << 63
_FNV_BASIS = 2166136261
_FNV_PRIME = 16777619


class PythonKernel(Kernel):
    """See `Kernel`. It uses the code of `raft.records` that reads and writes one record."""

    def decode(
        self, data: bytes, batches: Batches, *, start_offset: int, end_offset: int, headers: bool
    ) -> list[pa.Array]:
        rows: list[tuple[Any, ...]] = []
        for batch in batches:
            rows_before = len(rows)
            for index, record in enumerate(_records(data, batch)):
                if start_offset <= record.offset < end_offset:
                    timestamp_us = record.timestamp_ms * 1000
                    if not -_INT64_LIMIT <= timestamp_us < _INT64_LIMIT:
                        raise _refused(batch, Outcome.TIMESTAMP_OVERFLOW, index)
                    row = (record.key, record.value, record.offset, timestamp_us, int(batch["epoch"]))
                    rows.append((*row, record.headers or None))
            batch["row_count"] = len(rows) - rows_before
        schema = read_schema(headers=headers)
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        return [pa.array(column, field.type) for column, field in zip(columns, schema, strict=False)]

    def encoded_size(self, rows: Rows, *, first_offset_delta: int, base_timestamp_ms: int = 0) -> int:
        return sum(map(len, _encoded(rows, first_offset_delta, base_timestamp_ms)))

    def encode(
        self, rows: Rows, *, first_offset_delta: int, base_timestamp_ms: int = 0, output: npt.NDArray[np.uint8]
    ) -> None:
        output[:] = np.frombuffer(b"".join(_encoded(rows, first_offset_delta, base_timestamp_ms)), np.uint8)

    def key_hashes(self, keys: pa.Array) -> npt.NDArray[np.uint32]:
        return np.array([_hash(key or b"") for key in keys.to_pylist()], np.uint32)


def _hash(key: bytes) -> int:
    value = _FNV_BASIS
    for byte in key:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFF_FFFF
    return value


def _records(data: bytes, batch: np.void) -> Iterator[Record]:
    """Yield the records of a batch.

    Raises:
        DecodeError: while iterating, at the first record that is malformed or whose offset is wrong.
    """
    records = bytes(memoryview(data)[batch["records_start"] : batch["records_end"]])
    record_count, last_offset_delta = int(batch["record_count"]), int(batch["last_offset_delta"])
    has_append_time = bool(batch["attributes"] & LOG_APPEND_TIME)
    try:
        yield from read_records_section(
            records,
            record_count=record_count,
            base_offset=Offset(int(batch["base_offset"])),
            last_offset_delta=last_offset_delta,
            base_timestamp_ms=int(batch["base_timestamp_ms"]),
            append_time_ms=int(batch["max_timestamp_ms"]) if has_append_time else None,
        )
    except DecodeError as error:
        # The scanner says which record it is, and why. It gets no timestamps: only those of wanted rows are checked.
        section = Section(
            data=records,
            start=0,
            end=len(records),
            record_count=record_count,
            last_offset_delta=last_offset_delta,
            base_timestamp_ms=0,
            append_time_ms=0,
            has_append_time=True,
        )
        checked = PythonScanner().check_records(section, with_checksum=False)
        raise _refused(batch, Outcome(checked.outcome), checked.failed_record) from error


def _refused(batch: np.void, outcome: Outcome, index: int) -> DecodeError:
    return refused_record(outcome, base_offset=int(batch["base_offset"]), index=index)


def _encoded(rows: Rows, first_offset_delta: int, base_timestamp_ms: int) -> Iterator[bytes]:
    """Yield each row as a record."""
    times = [base_timestamp_ms] * rows.row_count if rows.timestamps_ms is None else rows.timestamps_ms.to_pylist()
    columns = zip(_values(rows, rows.key), _values(rows, rows.value), _headers(rows), times, strict=True)
    for offset_delta, (key, value, headers, timestamp_ms) in enumerate(columns, start=first_offset_delta):
        record = Record(key=key, value=value, headers=headers, timestamp_ms=timestamp_ms)
        yield write_record(record, offset_delta=offset_delta, base_timestamp_ms=base_timestamp_ms)


def _values(rows: Rows, column: pa.Array | None) -> list[bytes | None]:
    return [None] * rows.row_count if column is None else [_bytes(value) for value in column.to_pylist()]


def _headers(rows: Rows) -> Iterator[tuple[tuple[str, bytes | None], ...]]:
    lists = [None] * rows.row_count if rows.header_lists is None else rows.header_lists.to_pylist()
    for headers in lists:
        yield tuple((header["key"], _bytes(header["value"])) for header in headers or ())


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
