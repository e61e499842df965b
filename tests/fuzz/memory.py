"""Measures the peak memory of a call.

Python and numpy report every allocation to tracemalloc. Arrow has its own counter, whose maximum is never reset: it
shows the memory of a call only if that exceeds all before. Neither sees what the codecs allocate outside of Python; the
limit of the address space covers that (`chunk`).
"""

from __future__ import annotations

import tracemalloc
from types import TracebackType
from typing import Self

import pyarrow as pa


class PeakMemory:
    """The peak memory inside of a `with` block.

    Attributes:
        python_bytes: of Python and numpy; known after the block.
        arrow_bytes: of Arrow; likewise.
    """

    def __init__(self) -> None:
        self._arrow = pa.default_memory_pool()
        self.python_bytes = 0
        self.arrow_bytes = 0

    def __enter__(self) -> Self:
        self._arrow_before = self._arrow.bytes_allocated()
        self._arrow_maximum_before = self._arrow.max_memory()
        tracemalloc.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.python_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        arrow_maximum = self._arrow.max_memory()
        if arrow_maximum > self._arrow_maximum_before:
            self.arrow_bytes = arrow_maximum - self._arrow_before
