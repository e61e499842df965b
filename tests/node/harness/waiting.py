"""Waiting until a condition is true."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tests.hang import HANG_S

Found = TypeVar("Found")

_LOOK_S = 0.01


def eventually(
    look: Callable[[], Found | None], what: str, *, within_s: float = HANG_S, every_s: float = _LOOK_S
) -> Found:
    """Return what `look` finds, once that is truthy; fail with `what` when it never is.

    Args:
        look: returns None or anything that is not true while it is not there yet.
        what: names it, for the failure.
        within_s: how long to wait.
        every_s: pause between two looks, for those that disturb what they look at.
    """
    deadline_s = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline_s, f"not within {within_s:g} s: {what}"
        time.sleep(every_s)
    return found
