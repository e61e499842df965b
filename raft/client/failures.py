"""Why a node gave no response, in words."""

from __future__ import annotations

import os

NO_RESPONSE = "no response"
TIMED_OUT = "no response in time"
NOT_CONNECTED = "no connection in time"
PENDING = "no response yet"
CLOSED_BY_NODE = "the node closed the connection"


def in_words(error: Exception) -> str:
    """Say why a connection was lost, without the names of Python's exceptions.

    Args:
        error: one of `CONNECT_ERRORS`, or a `ProtocolError`.
    """
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio writes its own text into strerror.
    return str(getattr(error, "strerror", None) or error)
