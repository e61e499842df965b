"""Nodes with a listener for each way to protect one, and what their metrics count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from prometheus_client import generate_latest

from raft.client import Client
from raft.config.security import ClientSecurity
from raft.types import Endpoint
from tests.metrics.scraped import Scrape
from tests.node.harness.keys import SCRAM, Keys
from tests.node.harness.loop import NodesInProcess, client_at
from tests.node.harness.properties import voters_properties
from tests.node.harness.secured import (
    MUTUAL_TLS,
    OPEN_SCRAM,
    PLAINTEXT,
    TLS,
    TLS_BOTH,
    TLS_SCRAM,
    VOTERS,
    Protection,
    endpoint_of,
    secured,
)

BOTH, MUTUAL, OPEN, ENCRYPTED, UNPROTECTED = "BOTH", "MUTUAL", "OPEN", "ENCRYPTED", "UNPROTECTED"

LISTENERS: dict[str, Protection] = {
    VOTERS: TLS_SCRAM,
    BOTH: TLS_BOTH,
    MUTUAL: MUTUAL_TLS,
    OPEN: OPEN_SCRAM,
    ENCRYPTED: TLS,
    UNPROTECTED: PLAINTEXT,
}


class SecuredNodes:
    """Nodes with all listeners.

    Args:
        nodes: that run.
        keys: of their quorum.
    """

    def __init__(self, nodes: NodesInProcess, keys: Keys) -> None:
        self.nodes = nodes
        self.keys = keys

    def endpoint(self, listener: str, node_id: int = 1) -> Endpoint:
        """Return where a node listens."""
        return endpoint_of(self.nodes.configurations[node_id], listener)

    def security(self, listener: str, user: str = "alice", mechanism: str = SCRAM, **others: str) -> ClientSecurity:
        """Return the settings of a user: name and password, or a certificate where the listener needs one.

        Args:
            listener: that the user connects to.
            user: the name.
            mechanism: of SASL.
            others: further keys, with "__" for the dots.
        """
        protection = LISTENERS[listener]
        certificate = {}
        if protection.needs_certificate:
            certificate["ssl__keystore__location"] = str(self.keys.certificate(user, ()))
        return self.keys.client(protection.protocol, user, mechanism=mechanism, **certificate | others)

    def client(self, listener: str, security: ClientSecurity, *, api_timeout_ms: int = 10_000) -> Client:
        """Return a client of all nodes, at their listeners of a name."""
        endpoints = (self.endpoint(listener, node_id) for node_id in self.nodes.configurations)
        return client_at(*endpoints, security=security, api_timeout_ms=api_timeout_ms)

    def metrics(self, node_id: int = 1) -> Scrape:
        """Return the metrics of a node as they are now; over HTTP they may be a second old."""
        monitoring = self.nodes.running[node_id].parts._monitoring
        assert monitoring is not None, "it has a listener for metrics"
        return Scrape(generate_latest(monitoring.registry).decode())

    def authentications(self, outcome: str, listener: str, node_id: int = 1) -> float:
        """Return how many authentications have ended in this way, as the metrics of a node say."""
        name = f"kafka_server_socket_server_metrics_{outcome}_total"
        return self.metrics(node_id).value(name, listener=listener) or 0

    def refused(self, operation: str, node_id: int = 1) -> float:
        """Return how many requests the rules have refused, as the metrics of a node say."""
        return self.metrics(node_id).value("kraft_authorization_refused_total", operation=operation) or 0

    def dropped(self, cause: str, node_id: int = 1) -> float:
        """Return how many connections a node has dropped, as its metrics say."""
        return self.metrics(node_id).value("kraft_connections_dropped_total", cause=cause) or 0

    def forget_faults(self) -> None:
        """Let the nodes log at once what they have logged before."""

        def forget() -> None:
            for node in self.nodes.running.values():
                for faults in (node.parts.replica.context.refusals, node.parts.connections._closings):
                    faults._last_logged.clear()

        self.nodes.thread.look(forget)


@contextmanager
def secured_nodes(
    folder: Path,
    *,
    voters: int = 1,
    keys: Keys | None = None,
    more: Mapping[str, Protection] = MappingProxyType({}),
    overrides: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[SecuredNodes]:
    """Run nodes with all listeners, and wait for a leader.

    Args:
        folder: holds their files.
        voters: how many.
        keys: of the quorum; None makes them.
        more: further listeners.
        overrides: further properties of all nodes.
    """
    keys = Keys(folder) if keys is None else keys
    configurations = secured(voters_properties(folder, voters=voters), keys, {**LISTENERS, **more})
    complete = {node_id: {**properties, **overrides} for node_id, properties in configurations.items()}
    with NodesInProcess(complete) as nodes:
        nodes.start().wait_for_leader()
        yield SecuredNodes(nodes, keys)
