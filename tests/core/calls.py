"""How much is done, without a clock: the calls of Python functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(act: Callable[[], None]) -> int:
    """Count the functions that are called, and the generators that are resumed, while this one runs."""
    count = 0

    def tell(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count
