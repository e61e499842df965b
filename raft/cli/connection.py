"""The options with which commands find their quorum."""

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
Timeout = Annotated[int, typer.Option("--timeout-ms", min=1, help="How long to try.")]


def client_for(bootstrap_server: str, timeout_ms: int) -> Client:
    """Return a client, which connects at its first call.

    Args:
        bootstrap_server: value of the option.
        timeout_ms: value of the option.

    Raises:
        ConfigError: the option is not a list of addresses.
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
