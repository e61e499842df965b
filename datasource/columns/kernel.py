"""The port `Kernel`: the loops over single records. `compiled` implements it in C, `fallback` in Python.

Both give the same results and errors, and the tests compare them; `load` chooses one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datasource.columns.rows import Rows
from datasource.columns.walk import Batches
from raft.errors import DecodeError


class Outcome(IntEnum):
    """The outcome of a call; the numbers are those of `kernel.c`."""

    DONE = 0
    RECORD_MALFORMED = -1
    OFFSETS_DISORDERED = -2
    TIMESTAMP_OVERFLOW = -3
    ARROW_MALFORMED = -4
    OUTPUT_FULL = -5


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


class Kernel(Protocol):
    """Decodes and encodes records, and hashes keys. Outputs are copies and share no memory with the inputs."""

    name: str

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
        ...

    def encoded_size(self, rows: Rows, *, first_offset_delta: int, base_timestamp_ms: int = 0) -> int:
        """Return the exact size in bytes of the rows as records.

        Args:
            rows: the rows.
            first_offset_delta: offset delta of the first row.
            base_timestamp_ms: of the batch, for rows that have timestamps.
        """
        ...

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
        ...

    def key_hashes(self, keys: pa.Array) -> npt.NDArray[np.uint32]:
        """Return the hash of each key: 32-bit FNV-1a of its bytes, of no bytes for null.

        All kernels return the same, because the tasks of one read may have different ones.

        Args:
            keys: a binary column.
        """
        ...
