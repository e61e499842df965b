"""The loops over single records: the functions of `raft/native/columns.c`, called with Arrow's buffers."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datasource.columns.batch_table import Batches
from datasource.columns.rows import Rows
from datasource.columns.schema import TIMESTAMP_TYPE, header_lists
from datasource.columns.structures import (
    ColumnInput,
    Decoding,
    Encoding,
    Hashing,
    int64_address,
    offsets_room,
)
from raft.errors import DecodeError
from raft.native.library import FUNCTIONS, Outcome

_C = FUNCTIONS.unlocked
for _function, _structure in (
    (_C.decode_count, Decoding),
    (_C.decode_write, Decoding),
    (_C.encode_count, Encoding),
    (_C.encode_write, Encoding),
    (_C.hash_keys, Hashing),
):
    _function.argtypes, _function.restype = (ctypes.POINTER(_structure),), ctypes.c_int64

REASONS = {
    Outcome.RECORD_MALFORMED: "it is malformed",
    Outcome.OFFSETS_DISORDERED: "its offset is not higher than the one before, or lies outside the batch",
    Outcome.TIMESTAMP_OVERFLOW: "its timestamp does not fit into 64 bits of microseconds, which Spark has",
}


def refused_record(outcome: Outcome, *, base_offset: int, index: int) -> DecodeError:
    """Return the error for a record.

    Args:
        outcome: why it is refused.
        base_offset: of its batch.
        index: of the record in the batch.
    """
    return DecodeError(f"batch at offset {base_offset}, record {index}: {REASONS[outcome]}")


class Kernel:
    """Decodes and encodes records, and hashes keys. Outputs are copies and share no memory with the inputs."""

    def decode(
        self, data: bytes, batches: Batches, *, start_offset: int, end_offset: int, headers: bool
    ) -> list[pa.Array]:
        """Return the records at start_offset <= offset < end_offset as the columns of `read_schema(headers=headers)`.

        Args:
            data: the bytes that `records_start` and `records_end` of the batches point into, and never outside.
            batches: not compressed, and less than 2 GiB together. Their `row_count` is set.
            start_offset: records before it are left out.
            end_offset: records at it and after it are left out.
            headers: whether to return the column of headers.

        Raises:
            DecodeError: a record of any of the batches is malformed, or one in the range has a timestamp that does not
                fit.
        """
        decoding = Decoding(
            input=np.frombuffer(data, np.uint8).ctypes.data,
            batches=batches.ctypes.data,
            batch_count=len(batches),
            start_offset=start_offset,
            end_offset=end_offset,
            has_headers=headers,
        )
        outcome = Outcome(_C.decode_count(decoding))
        if outcome is not Outcome.DONE:
            base_offset = int(batches["base_offset"][decoding.failed_batch])
            raise refused_record(outcome, base_offset=base_offset, index=decoding.failed_record)
        return self._write_columns(decoding)

    def _write_columns(self, decoding: Decoding) -> list[pa.Array]:
        """Allocate buffers of the counted sizes, and let the library fill them."""
        rows = decoding.row_count
        key, value = decoding.key.make_room(rows), decoding.value.make_room(rows)
        offsets, timestamps, epochs = (pa.allocate_buffer(size * rows) for size in (8, 8, 4))
        decoding.offsets, decoding.timestamps_us, decoding.epochs = offsets.address, timestamps.address, epochs.address
        if decoding.has_headers:
            list_offsets = offsets_room(rows)
            decoding.header_offsets = list_offsets.address
            header_key = decoding.header_key.make_room(decoding.header_count)
            header_value = decoding.header_value.make_room(decoding.header_count)
        outcome = _C.decode_write(decoding)
        assert outcome == Outcome.DONE, "the input changed while it was decoded"
        array = pa.Array.from_buffers
        columns = [
            array(pa.binary(), rows, key, decoding.key.null_count),
            array(pa.binary(), rows, value, decoding.value.null_count),
            array(pa.int64(), rows, [None, offsets], 0),
            array(TIMESTAMP_TYPE, rows, [None, timestamps], 0),
            array(pa.int32(), rows, [None, epochs], 0),
        ]
        if decoding.has_headers:
            keys = array(pa.string(), decoding.header_count, header_key)
            values = array(pa.binary(), decoding.header_count, header_value)
            columns.append(header_lists(list_offsets, keys, values))
        return columns

    def encoded_size(self, rows: Rows, *, first_offset_delta: int, base_timestamp_ms: int = 0) -> int:
        """Return the exact size in bytes of the rows as records.

        Args:
            rows: the rows.
            first_offset_delta: offset delta of the first row.
            base_timestamp_ms: of the batch, for rows that have timestamps.
        """
        encoding = _encoding(rows, first_offset_delta, base_timestamp_ms)
        outcome = _C.encode_count(encoding)
        if outcome != Outcome.DONE:
            raise ValueError("an Arrow array has offsets outside of its data")
        return int(encoding.byte_count)

    def encode(
        self, rows: Rows, *, first_offset_delta: int, base_timestamp_ms: int = 0, output: npt.NDArray[np.uint8]
    ) -> None:
        """Write the rows as records.

        Args:
            rows: the rows.
            first_offset_delta: offset delta of the first row.
            base_timestamp_ms: see `encoded_size`.
            output: has exactly the size that `encoded_size` returns.
        """
        encoding = _encoding(rows, first_offset_delta, base_timestamp_ms)
        encoding.output, encoding.output_size = output.ctypes.data, len(output)
        outcome = _C.encode_write(encoding)
        assert outcome == Outcome.DONE, "the output is smaller than the rows"
        assert encoding.byte_count == len(output), "the output is larger than the rows"

    def key_hashes(self, keys: pa.Array) -> npt.NDArray[np.uint32]:
        """Return the hash of each key: 32-bit FNV-1a of its bytes, of no bytes for null.

        Args:
            keys: a binary column.
        """
        hashes = np.empty(len(keys), np.uint32)
        hashing = Hashing(row_count=len(keys), key=ColumnInput.of(keys), hashes=hashes.ctypes.data)
        if _C.hash_keys(hashing) != Outcome.DONE:
            raise ValueError("an Arrow array has offsets outside of its data")
        return hashes


KERNEL = Kernel()
"""The kernel of this process."""


def _encoding(rows: Rows, first_offset_delta: int, base_timestamp_ms: int) -> Encoding:
    return Encoding(
        row_count=rows.row_count,
        first_offset_delta=first_offset_delta,
        timestamps_ms=None if rows.timestamps_ms is None else int64_address(rows.timestamps_ms),
        base_timestamp_ms=base_timestamp_ms,
        key=ColumnInput.of(rows.key),
        value=ColumnInput.of(rows.value),
        header_lists=ColumnInput.of(rows.header_lists),
        header_key=ColumnInput.of(rows.header_keys),
        header_value=ColumnInput.of(rows.header_values),
    )
