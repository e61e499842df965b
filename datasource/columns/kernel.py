"""What a kernel does: the loops that run once a record. `compiled` does it in C, `fallback` in Python.

Both give the same answers, and the tests hold them against each other; `load` chooses.
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
    """How a walk over records ends; the numbers are those of `kernel.c`."""

    DONE = 0
    RECORD_MALFORMED = -1
    OFFSETS_DISORDERED = -2
    TIMESTAMP_OVERFLOW = -3
    ARROW_MALFORMED = -4
    OUTPUT_FULL = -5


REASONS = {
    Outcome.RECORD_MALFORMED: "it is malformed",
    Outcome.OFFSETS_DISORDERED: "its offset is not after the one before it and inside of the batch",
    Outcome.TIMESTAMP_OVERFLOW: "its timestamp is beyond what Spark can express, which is 64 bits of microseconds",
}


def refused_record(outcome: Outcome, *, base_offset: int, index: int) -> DecodeError:
    """Return the error for record number `index` of the batch at `base_offset`."""
    return DecodeError(f"batch at offset {base_offset}, record {index}: {REASONS[outcome]}")


class Kernel(Protocol):
    """The port. Outputs are copies: they share no memory with the inputs."""

    name: str

    def decode(
        self, data: bytes, batches: Batches, *, start_offset: int, end_offset: int, headers: bool
    ) -> list[pa.Array]:
        """Turn the records at start_offset <= offset < end_offset into the columns of `read_schema(headers=headers)`.

        Args:
            data: what `records_start` and `records_end` of the batches point into, and never outside.
            batches: not compressed, and less than 2 GiB together. Their `row_count` is set.
            start_offset: records before it are left out.
            end_offset: records at it and after it are left out.
            headers: whether the column of headers is wanted.

        Raises:
            DecodeError: a record of any of the batches, wanted or not, is malformed; a wanted one has a timestamp
                that cannot be expressed.
        """
        ...

    def encoded_size(self, rows: Rows, *, first_offset_delta: int) -> int:
        """Return the exact size in bytes of the rows as records, the first one with this offset delta."""
        ...

    def encode(self, rows: Rows, *, first_offset_delta: int, output: npt.NDArray[np.uint8]) -> None:
        """Write the rows as records to `output`, which has exactly the size that `encoded_size` said."""
        ...
