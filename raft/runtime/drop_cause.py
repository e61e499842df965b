"""Why a node drops connections, for its metrics."""

from __future__ import annotations

from enum import Enum


class DropCause(Enum):
    """A kind of reason to drop a connection."""

    INVALID_REQUEST = "invalid-request"
    UNSUPPORTED_REQUEST = "unsupported-request"
    WRONG_ADDRESS = "wrong-address"
    FAILED_AUTHENTICATION = "failed-authentication"
    EXPIRED_SESSION = "expired-session"
    IDLE = "idle"
    SLOW = "slow"
    MAX_CONNECTIONS = "max-connections"
    MAX_CONNECTIONS_PER_IP = "max-connections-per-ip"
    ERROR = "error"
