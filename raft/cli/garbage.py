"""Settings of Python's garbage collector for a node.

A node makes no reference cycles: the objects of a request are freed by their reference counts. With Python's defaults
the collector would examine all young objects after every 700 allocations, and all imported modules again and again.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 20, 100)
"""Allocations before a collection of the youngest generation, and collections before one of the next generation."""


def settle() -> None:
    """Exclude the present objects from later collections, and make these rare; called once, at the start."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
