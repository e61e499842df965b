"""Pauses Python's cyclic garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Enclose code that makes many objects without cycles.

    Python would search all of them for cycles again and again, which takes longer than to unpack them. They are freed
    as always when their last reference is gone.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
