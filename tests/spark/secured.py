"""Reads and writes of a quorum that asks who its clients are."""

from __future__ import annotations

from typing import Any

from raft.client import Client, ClientSettings
from raft.config.security import client_security
from raft.errors import AuthenticationError, ConfigError, RequestError
from tests.secured.access import Access
from tests.spark.frames import SERVERS

_API_TIMEOUT_MS = 10_000


def options_of(access: Access, **changes: str | None) -> dict[str, str]:
    """Return the options of a read or a write.

    Args:
        access: of the application.
        changes: of its options, without `kraft.` and with "__" for the dots; None for without one.
    """
    options: dict[str, Any] = {f"kraft.{key}": value for key, value in access.properties().items()}
    options[SERVERS] = access.bootstrap_servers
    options |= {f"kraft.{name.replace('__', '.')}": value for name, value in changes.items()}
    return {name: value for name, value in options.items() if value is not None}


def may_read(access: Access) -> bool:
    """Return whether a client on a new connection may read."""
    security = client_security(access.properties())
    settings = ClientSettings(bootstrap_servers=access.servers, api_timeout_ms=_API_TIMEOUT_MS, security=security)
    try:
        with Client(settings) as client:
            client.last_stable_offset()
    except (AuthenticationError, ConfigError, RequestError):
        return False
    return True
