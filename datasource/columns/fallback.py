"""The kernel in numpy, for places where the compiled one is missing: the same answers, several times slower."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datasource.columns.kernel import Outcome, refused_record
from datasource.columns.numpy_encode import encode_records, records_size
from datasource.columns.numpy_records import Records, read_records
from datasource.columns.rows import Rows
from datasource.columns.schema import TIMESTAMP_TYPE, header_lists
from datasource.columns.varints import Flags, Integers, UnsoundError, bounds, require
from datasource.columns.walk import Batches
from raft.records.header import LOG_APPEND_TIME

LARGEST_TIMESTAMP_MS = (2**63 - 1) // 1000


class NumpyKernel:
    """The port `Kernel`, carried out by numpy and pyarrow."""

    name = "numpy"

    def decode(
        self, data: bytes, batches: Batches, *, start_offset: int, end_offset: int, headers: bool
    ) -> list[pa.Array]:
        """See `Kernel.decode`."""
        octets = np.frombuffer(data, np.uint8)
        records = read_records(data, octets, batches)
        offsets = batches["base_offset"][records.owners] + records.offset_deltas
        wanted = (offsets >= start_offset) & (offsets < end_offset)
        owners = records.owners[wanted]
        batches["row_count"] = np.bincount(owners, minlength=len(batches))
        columns = [
            records.keys[wanted].to_array(octets),
            records.values[wanted].to_array(octets),
            pa.array(offsets[wanted]),
            pa.array(_timestamps_us(records, batches, wanted)).cast(TIMESTAMP_TYPE),
            pa.array(batches["epoch"][owners].astype(np.int32)),
        ]
        if headers:
            wanted_headers = np.repeat(wanted, records.header_counts)
            keys = records.header_keys[wanted_headers].to_array(octets)
            # Not cast, because that would check here what the caller checks for both kernels: that they are text.
            keys = pa.Array.from_buffers(pa.string(), len(keys), keys.buffers())
            values = records.header_values[wanted_headers].to_array(octets)
            list_offsets = pa.py_buffer(bounds(records.header_counts[wanted]).astype(np.int32))
            columns.append(header_lists(list_offsets, keys, values))
        return columns

    def encoded_size(self, rows: Rows, *, first_offset_delta: int) -> int:
        """See `Kernel.encoded_size`."""
        return records_size(rows, first_offset_delta)

    def encode(self, rows: Rows, *, first_offset_delta: int, output: npt.NDArray[np.uint8]) -> None:
        """See `Kernel.encode`."""
        output[:] = encode_records(rows, first_offset_delta)


def _timestamps_us(records: Records, batches: Batches, wanted: Flags) -> Integers:
    """Return the time of each wanted record in microseconds."""
    owners, deltas = records.owners[wanted], records.timestamp_deltas_ms[wanted]
    bases = batches["base_timestamp_ms"][owners]
    sums = bases + deltas
    has_append_time = (batches["attributes"][owners] & LOG_APPEND_TIME) > 0
    # A sum whose sign is that of neither part has overflowed.
    is_sound = has_append_time | (((bases ^ sums) & (deltas ^ sums)) >= 0)
    timestamps_ms = np.where(has_append_time, batches["max_timestamp_ms"][owners], sums)
    is_sound &= (timestamps_ms >= -LARGEST_TIMESTAMP_MS) & (timestamps_ms <= LARGEST_TIMESTAMP_MS)
    try:
        require(is_sound)
    except UnsoundError as error:
        base_offset, index = batches["base_offset"][owners[error.index]], records.indices[wanted][error.index]
        raise refused_record(Outcome.TIMESTAMP_OVERFLOW, base_offset=int(base_offset), index=int(index)) from None
    return timestamps_ms * 1000
