"""Keeps Python's collector of cyclic garbage out of a node's way.

A node makes no cycles in its daily work: what a request needs is freed by reference counts as soon as it is answered.
The collector, as Python sets it up, would look at all young objects after every 700 that are made, and at everything
that was imported again and again.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 20, 100)
"""Objects made before the youngest are looked at, and how often that is done before older ones are."""


def settle() -> None:
    """Leave the objects that there are now out of later collections, and make those rare; called once, at the start."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
