"""Why a node gave no response, in words."""

from __future__ import annotations

import os

TIMED_OUT = "no response in time"
CLOSED_BY_NODE = "the node closed the connection"


def in_words(error: Exception) -> str:
    """Say what went wrong, without the names of Python's exceptions."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio puts words of its own into strerror
    return str(getattr(error, "strerror", None) or error)
