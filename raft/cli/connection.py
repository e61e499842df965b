"""The options with which commands find their quorum, and prove who they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from raft.client import Client, ClientSettings
from raft.client.settings import DEFAULT_REQUEST_TIMEOUT_MS
from raft.config import read_properties
from raft.config.security import NO_SECURITY, ClientSecurity, client_security
from raft.config.values import addresses
from raft.errors import ConfigError

BootstrapServer = Annotated[
    str,
    typer.Option(
        "--bootstrap-server", "--bootstrap-controller", metavar="HOST:PORT[,..]", help="Nodes to ask for the leader."
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        help="A properties file with security.protocol, ssl.* and sasl.* of Kafka's clients.",
        metavar="CLIENT.PROPERTIES",
    ),
]
Timeout = Annotated[int, typer.Option("--timeout-ms", min=1, help="How long to try.")]


def client_for(bootstrap_server: str, timeout_ms: int, command_config: Path | None) -> Client:
    """Return a client, which connects at its first call.

    Args:
        bootstrap_server: value of the option.
        timeout_ms: value of the option.
        command_config: value of the option; None for connections that are not secured.

    Raises:
        ConfigError: the option is not a list of addresses, or the file cannot be used.
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
            security=_security(command_config),
        )
    )


def _security(command_config: Path | None) -> ClientSecurity:
    if command_config is None:
        return NO_SECURITY
    try:
        return client_security(read_properties(command_config))
    except ConfigError as error:
        raise ConfigError(f"--command-config {command_config}: {error}") from error
