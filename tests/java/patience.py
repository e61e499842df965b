"""Waiting for what another process does: nobody tells us when, so we look again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

_LOOK_S = 0.05


def wait_until(what: str, look: Callable[[], Found | None], *, timeout_s: float) -> Found:
    """Return what `look` finds, as soon as it finds something.

    Args:
        what: names it, for the failure.
        look: None or False while it is not there yet.
        timeout_s: how long to wait.

    Raises:
        AssertionError: it was not there in time.
    """
    deadline_s = time.monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline_s, f"not within {timeout_s:g} s: {what}"
        time.sleep(_LOOK_S)
