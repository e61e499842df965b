"""Why a node gave no answer, in words."""

from __future__ import annotations

import os


def in_words(error: Exception) -> str:
    """Say what went wrong, without the machinery around it."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio puts words of its own into strerror
    return str(getattr(error, "strerror", None) or error)
