"""How the authentications of clients end, for the metrics of a node."""

from __future__ import annotations

from enum import Enum


class AuthenticationOutcome(Enum):
    """The end of an authentication, or of a session. The values are parts of the names of Kafka's metrics."""

    SUCCESSFUL = "successful-authentication"
    FAILED = "failed-authentication"
    SUCCESSFUL_AGAIN = "successful-reauthentication"
    FAILED_AGAIN = "failed-reauthentication"
    EXPIRED = "expired-connections-killed"
