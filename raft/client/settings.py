"""The settings of a client."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from raft.config.endpoints import addresses
from raft.config.security import ClientSecurity
from raft.errors import ConfigError
from raft.types import Endpoint

DEFAULT_API_TIMEOUT_MS = 60_000
DEFAULT_REQUEST_TIMEOUT_MS = 5_000
DEFAULT_MAX_REQUEST_BYTES = 8 << 20


class ReadFrom(Enum):
    """Which nodes serve the fetches of a client. Where the log ends is always asked of the leader."""

    LEADER = "leader"
    ANY = "any"
    NEAREST = "nearest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Where the quorum is, and how long to wait for it.

    Fields:
        bootstrap_servers: one or more nodes to ask first; they name the others.
        cluster_id: the only cluster id that is accepted; None accepts any.
        topic: the name of the topic; None for the only topic that the quorum hosts.
        api_timeout_ms: how long a call may take, with all its retries.
        request_timeout_ms: how long the response to one request may take.
        connect_timeout_ms: how long a client that has never had a response of a leader tries to connect to a node,
            before a call fails with `QuorumUnreachableError`; None for as long as the call may take.
        patience_ms: how long a node may take to respond before other nodes are asked for the leader. The request stays
            in flight meanwhile. The time that a request allows the leader to wait is added.
        retry_backoff_ms: how long to pause before a retry.
        max_request_bytes: the largest record batch to append.
        read_from: which nodes serve fetches; see `raft.client.readers`.
        rack: with `NEAREST`, the rack of the nodes that serve fetches, as in their `broker.rack`.
        client_id: how the nodes' logs name this client.
        security: how its connections are secured; None if nothing says so: then they are not.
    """

    bootstrap_servers: tuple[Endpoint, ...]
    cluster_id: str | None = None
    topic: str | None = None
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS
    connect_timeout_ms: int | None = None
    patience_ms: int = 500
    retry_backoff_ms: int = 50
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES
    read_from: ReadFrom = ReadFrom.LEADER
    rack: str | None = None
    client_id: str = "kraft-spark"
    security: ClientSecurity | None = None

    @classmethod
    def of(cls, servers: str) -> ClientSettings:
        """Return the default settings for these servers.

        Args:
            servers: the nodes to ask first: "host:port,host:port,...".

        Raises:
            ConfigError: that is not a list of addresses.
        """
        found = addresses("the servers of a client", servers)
        if not found:
            raise ConfigError('the servers of a client: expected "host:port,host:port,...", got none')
        return cls(bootstrap_servers=found)
