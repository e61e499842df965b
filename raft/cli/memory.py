"""Settings of a node's memory: of Python's garbage collector, and of the C library's malloc.

The objects of a request and of a connection are freed by their reference counts (SHARE-10). With Python's defaults the
collector would examine all young objects after every 700 allocations, and all imported modules again and again. It
stops the node while it examines them, so it does not wait until there are very many.

Requests and responses of mebibytes come and go. With its defaults, malloc returns the memory of each to the operating
system, and the next one has to get it again, page by page. That was three tenths of the processor time of the nodes in
a large write.
"""

from __future__ import annotations

import ctypes
import gc

_THRESHOLDS = (10_000, 20, 100)
"""Allocations before a collection of the youngest generation, and collections before one of the next generation."""

_REUSED_BYTES = 32 << 20
"""Memory of up to this size is kept when it is freed; glibc accepts no larger value. A batch has up to 8 MiB."""

_KEPT_BYTES = 64 << 20
"""Most freed memory that is kept at the end of the heap."""

_HEAPS = 1
"""Of a process. With one for each thread, what one thread has freed is not used by another one."""

# From malloc.h of glibc.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8


def settle() -> None:
    """Apply the settings; called once, after the modules are imported and before the event loop runs.

    The present objects are excluded from later collections, and these are rare. Malloc keeps freed memory; C libraries
    other than glibc have no such setting.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _REUSED_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_ARENA_MAX, _HEAPS)
