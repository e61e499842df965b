"""The newest row of each key, of rows that come in the order of their offsets.

Rows are collected until there are about as many as the newest ones of before. Then both are reduced together: Arrow
numbers the keys in a hash table, and NumPy finds the last row of each number. So a row is hashed about twice, however
long the log is, and the memory is a small multiple of the rows that are left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datasource.columns.kernel import KERNEL, Kernel

LEAST_ROWS = 1 << 18
LEAST_BYTES = 32 << 20
"""So many new rows, or bytes of them, are collected before they are reduced, even if fewer were left before."""

PIECE_BYTES = 4 << 20
"""About the size of the record batches of the result."""


class NewestRows:
    """The newest rows, without those of keys that were deleted (null as value), and without rows that have no key.

    Args:
        share: of the keys: those whose hash has the remainder `share` when divided by `shares` are kept.
        shares: number of shares.
        least_rows: see `LEAST_ROWS`.
        kernel: tests compare its results with those of another one.
    """

    def __init__(
        self, *, share: int = 0, shares: int = 1, least_rows: int = LEAST_ROWS, kernel: Kernel = KERNEL
    ) -> None:
        assert 0 <= share < shares, f"share {share} of {shares}"
        self._share = share
        self._shares = shares
        self._least_rows = least_rows
        self._kernel = kernel
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._kept: list[pa.RecordBatch] = []
        self._kept_rows = self._kept_bytes = 0
        self._begin()

    def add(self, record_batch: pa.RecordBatch) -> None:
        """Add rows with the columns `key` and `value`. They are newer than all rows before."""
        record_batch = self._of_this_share(record_batch)
        if not record_batch.num_rows:
            return
        self._added.append(record_batch)
        self._added_rows += record_batch.num_rows
        self._added_bytes += record_batch.nbytes
        if self._added_rows >= max(self._kept_rows, self._least_rows) or self._added_bytes >= max(
            self._kept_bytes, LEAST_BYTES
        ):
            self._reduce()

    def record_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the newest rows in the order of their offsets."""
        self._reduce()
        for record_batch in self._kept:
            rows = max(record_batch.num_rows * PIECE_BYTES // max(record_batch.nbytes, 1), 1)
            for start in range(0, record_batch.num_rows, rows):
                yield record_batch.slice(start, rows)

    def _of_this_share(self, record_batch: pa.RecordBatch) -> pa.RecordBatch:
        keys = record_batch.column("key")
        is_wanted = pc.is_valid(keys) if keys.null_count else None
        if self._shares > 1:
            is_of_share = pa.array(self._kernel.key_hashes(keys) % self._shares == self._share)
            is_wanted = is_of_share if is_wanted is None else pc.and_(is_wanted, is_of_share)
        return record_batch if is_wanted is None else record_batch.filter(is_wanted)

    def _begin(self) -> None:
        self._added: list[pa.RecordBatch] = []
        self._added_rows = self._added_bytes = 0

    def _reduce(self) -> None:
        if not self._added:
            return
        rows = [*self._kept, *self._added]
        is_newest = pa.array(_is_last_of_key([record_batch.column("key") for record_batch in rows]))
        table = pa.Table.from_batches(rows)
        is_left = pc.and_(is_newest, table.column("value").is_valid())
        self._kept = table.filter(is_left).combine_chunks().to_batches()
        self._kept_rows = sum(record_batch.num_rows for record_batch in self._kept)
        self._kept_bytes = sum(record_batch.nbytes for record_batch in self._kept)
        self._begin()


def _is_last_of_key(keys: list[pa.Array]) -> npt.NDArray[np.bool_]:
    """Return for each key whether it does not come again. No key is null."""
    # The keys of all rows together may have more bytes than 32-bit offsets can count.
    numbered = pa.concat_arrays([each.cast(pa.large_binary()) for each in keys]).dictionary_encode()
    numbers = numbered.indices.to_numpy()
    last = np.empty(len(numbered.dictionary), np.int64)
    # Where a number comes again, the last assignment stays.
    last[numbers] = np.arange(len(numbers))
    is_last = np.zeros(len(numbers), np.bool_)
    is_last[last] = True
    return is_last
