"""Waiting for something to become true, instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

_LOOK_S = 0.01


def eventually(look: Callable[[], Found], what: str, *, within_s: float = 10.0) -> Found:
    """Return what `look` finds, once that is truthy; fail with `what` when it never is."""
    deadline_s = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline_s, f"not within {within_s:g} s: {what}"
        time.sleep(_LOOK_S)
    return found
