"""Measures the most memory that a call takes at one time.

Python and numpy tell tracemalloc of every allocation. Arrow keeps its own count, of which the maximum is never reset;
so it says what a call took whenever that is more than ever before, and otherwise that it was less. What the codecs
allocate behind Python's back neither sees: that is what the limit on a child's address space is for (`chunk`).
"""

from __future__ import annotations

import tracemalloc
from types import TracebackType
from typing import Self

import pyarrow as pa


class PeakMemory:
    """The most memory taken at one time inside of a `with` block.

    Attributes:
        size_bytes: known after the block.
    """

    def __init__(self) -> None:
        self._arrow = pa.default_memory_pool()
        self.size_bytes = 0

    def __enter__(self) -> Self:
        self._arrow_before = self._arrow.bytes_allocated()
        self._arrow_maximum_before = self._arrow.max_memory()
        tracemalloc.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.size_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        arrow_maximum = self._arrow.max_memory()
        if arrow_maximum > self._arrow_maximum_before:
            self.size_bytes += arrow_maximum - self._arrow_before
