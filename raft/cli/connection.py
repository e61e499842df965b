"""How commands find their quorum: the option that they share."""

from __future__ import annotations

from typing import Annotated

import typer

from raft.client import Client, ClientSettings
from raft.client.settings import DEFAULT_REQUEST_TIMEOUT_MS
from raft.config.values import addresses
from raft.errors import ConfigError

BootstrapServer = Annotated[
    str,
    typer.Option(
        "--bootstrap-server", "--bootstrap-controller", metavar="HOST:PORT[,..]", help="Nodes to ask for the leader."
    ),
]
Timeout = Annotated[int, typer.Option("--timeout-ms", min=1, help="How long to try before giving up.")]


def client_for(bootstrap_server: str, timeout_ms: int) -> Client:
    """Make a client; it connects when it is used.

    Raises:
        ConfigError: the addresses are none.
    """
    servers = addresses("--bootstrap-server", bootstrap_server)
    if not servers:
        raise ConfigError("--bootstrap-server is empty: expected host:port,...")
    return Client(
        ClientSettings(
            bootstrap_servers=servers,
            api_timeout_ms=timeout_ms,
            request_timeout_ms=min(DEFAULT_REQUEST_TIMEOUT_MS, timeout_ms),
            client_id="kraft",
        )
    )
