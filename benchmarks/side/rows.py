"""The rows of all works with Spark: a key of 10 bytes and a value of 100."""

from __future__ import annotations

import pyarrow as pa

VALUE = b"x" * 100
ROWS_A_BATCH = 9_000
"""As many rows as there are in a batch of about 1 MB."""


def key_of(row: int) -> bytes:
    """Return the key of a row; the keys of all batches are equal."""
    return b"key-%06d" % (row % ROWS_A_BATCH)


def rows_of_a_batch() -> list[pa.Array]:
    """Return the keys and the values of one batch."""
    keys = [key_of(row) for row in range(ROWS_A_BATCH)]
    return [pa.array(keys, pa.binary()), pa.array([VALUE] * ROWS_A_BATCH, pa.binary())]
