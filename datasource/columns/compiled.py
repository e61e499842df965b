"""The kernel in C, called through ctypes: a library beside this file that any version of Python can load."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datasource.columns.kernel import Outcome, refused_record
from datasource.columns.rows import Rows
from datasource.columns.schema import TIMESTAMP_TYPE, header_lists
from datasource.columns.structures import (
    KERNEL_VERSION,
    ColumnInput,
    Decoding,
    Encoding,
    Hashing,
    int64_address,
    offsets_room,
)
from datasource.columns.walk import Batches
from raft.records.native_library import COMPILED, check_version, library_beside

LIBRARY = library_beside(__file__, "kernel")


class CompiledKernel:
    """The port `Kernel`, implemented by the library. ctypes releases the interpreter's lock during a call.

    Args:
        library: the shared library that `build_kernel.py` compiled from `kernel.c`.

    Raises:
        OSError: the library does not exist, or is not for this machine.
        ValueError: it was compiled from another version of `kernel.c`.
    """

    name = COMPILED

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        check_version(self._library, "kernel_version", KERNEL_VERSION)
        for function in (self._library.decode_count, self._library.decode_write):
            function.argtypes, function.restype = (ctypes.POINTER(Decoding),), ctypes.c_int64
        for function in (self._library.encode_count, self._library.encode_write):
            function.argtypes, function.restype = (ctypes.POINTER(Encoding),), ctypes.c_int64
        self._library.hash_keys.argtypes, self._library.hash_keys.restype = (ctypes.POINTER(Hashing),), ctypes.c_int64

    def decode(
        self, data: bytes, batches: Batches, *, start_offset: int, end_offset: int, headers: bool
    ) -> list[pa.Array]:
        """See `Kernel.decode`."""
        decoding = Decoding(
            input=np.frombuffer(data, np.uint8).ctypes.data,
            batches=batches.ctypes.data,
            batch_count=len(batches),
            start_offset=start_offset,
            end_offset=end_offset,
            has_headers=headers,
        )
        outcome = Outcome(self._library.decode_count(decoding))
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
        outcome = self._library.decode_write(decoding)
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
        """See `Kernel.encoded_size`."""
        encoding = _encoding(rows, first_offset_delta, base_timestamp_ms)
        outcome = self._library.encode_count(encoding)
        if outcome != Outcome.DONE:
            raise ValueError("an Arrow array has offsets outside of its data")
        return int(encoding.byte_count)

    def encode(
        self, rows: Rows, *, first_offset_delta: int, base_timestamp_ms: int = 0, output: npt.NDArray[np.uint8]
    ) -> None:
        """See `Kernel.encode`."""
        encoding = _encoding(rows, first_offset_delta, base_timestamp_ms)
        encoding.output, encoding.output_size = output.ctypes.data, len(output)
        outcome = self._library.encode_write(encoding)
        assert outcome == Outcome.DONE, "the output is smaller than the rows"
        assert encoding.byte_count == len(output), "the output is larger than the rows"

    def key_hashes(self, keys: pa.Array) -> npt.NDArray[np.uint32]:
        """See `Kernel.key_hashes`."""
        hashes = np.empty(len(keys), np.uint32)
        hashing = Hashing(row_count=len(keys), key=ColumnInput.of(keys), hashes=hashes.ctypes.data)
        if self._library.hash_keys(hashing) != Outcome.DONE:
            raise ValueError("an Arrow array has offsets outside of its data")
        return hashes


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
