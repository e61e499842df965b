"""Why a node gave no answer, in words."""

from __future__ import annotations


def in_words(error: Exception) -> str:
    """Say what went wrong, without the machinery around it."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(getattr(error, "strerror", None) or error)
