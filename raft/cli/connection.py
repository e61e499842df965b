"""The options with which commands find their quorum, and prove who they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from raft.client import Client, ClientSettings
from raft.client.settings import DEFAULT_MAX_REQUEST_BYTES, DEFAULT_REQUEST_TIMEOUT_MS
from raft.config import read_properties
from raft.config.endpoints import addresses
from raft.config.security import NO_SECURITY, ClientSecurity, client_security
from raft.errors import ConfigError
from raft.types import Endpoint

_SERVERS = "bootstrap.servers"

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "--bootstrap-controller",
        metavar="HOST:PORT[,..]",
        help=f"Nodes to ask for the leader; by default {_SERVERS} of the file of --command-config.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        help="A properties file with bootstrap.servers, security.protocol, ssl.* and sasl.* of Kafka's clients.",
        metavar="CLIENT.PROPERTIES",
    ),
]
Timeout = Annotated[int, typer.Option("--timeout-ms", min=1, help="How long to try.")]


def client_for(
    bootstrap_server: str | None,
    timeout_ms: int,
    command_config: Path | None,
    *,
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES,
) -> Client:
    """Return a client, which connects at its first call.

    Args:
        bootstrap_server: value of the option; None for the servers in the file.
        timeout_ms: value of the option.
        command_config: value of the option; None for connections that are not secured.
        max_request_bytes: the largest record batch to append.

    Raises:
        ConfigError: the servers are not a list of addresses, or the file cannot be used.
        BadParameter: neither the option nor the file has servers.
    """
    properties, security = _read(command_config)
    return Client(
        ClientSettings(
            bootstrap_servers=_servers(bootstrap_server, command_config, properties),
            api_timeout_ms=timeout_ms,
            request_timeout_ms=min(DEFAULT_REQUEST_TIMEOUT_MS, timeout_ms),
            max_request_bytes=max_request_bytes,
            client_id="kraft",
            security=security,
        )
    )


def _servers(
    bootstrap_server: str | None, command_config: Path | None, properties: Mapping[str, str]
) -> tuple[Endpoint, ...]:
    named = "--bootstrap-server"
    if bootstrap_server is None:
        bootstrap_server = properties.get(_SERVERS)
        if bootstrap_server is None:
            lacks = "" if command_config is None else f", which {command_config} lacks"
            raise typer.BadParameter(f"expected {named}, or {_SERVERS} in the file of --command-config{lacks}")
        named = f"--command-config {command_config}: {_SERVERS}"
    servers = addresses(named, bootstrap_server)
    if not servers:
        raise ConfigError(f"{named} is empty: expected host:port,...")
    return servers


def _read(command_config: Path | None) -> tuple[Mapping[str, str], ClientSecurity]:
    """Return the properties of the file, and the security that they describe."""
    if command_config is None:
        return {}, NO_SECURITY
    with _named(command_config):
        properties = read_properties(command_config)
        return properties, client_security(properties)


@contextmanager
def _named(command_config: Path) -> Iterator[None]:
    """Name the option in errors about its file."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"--command-config {command_config}: {error}") from error
