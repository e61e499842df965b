"""Why a node gave no response, in words."""

from __future__ import annotations

import os

NO_RESPONSE = "no response"
TIMED_OUT = "no response in time"
NOT_CONNECTED = "no connection in time"
PENDING = "no response yet"
CLOSED_BY_NODE = "the node closed the connection"
CLOSED_AT_ONCE = (
    "the node closed the connection before its first response; is security.protocol that of the node's listener?"
)
CLOSED_AFTER_HANDSHAKE = (
    "the node closed the connection after the TLS handshake; do its ssl.principal.mapping.rules have a name for the "
    "certificate in ssl.keystore.location?"
)
NEEDED_RULE = (
    "expected a rule in raft.authorization.file of the nodes that allows its user `read` for reads, `append` for "
    "writes, `describe` for descriptions"
)
SILENCES = frozenset([TIMED_OUT, NOT_CONNECTED])
"""The failures of a node that did not respond in the time that it had."""


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
