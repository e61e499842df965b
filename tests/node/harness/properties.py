"""Configurations of nodes on loopback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from raft.local.ports import free_ports
from raft.types import Endpoint

CLUSTER_ID = "kq5mZl0zT0uJwXUxQKo9gQ"
TOPIC = "__cluster_metadata"
HOST = "127.0.0.1"

Properties = dict[str, str]

Advertise = Callable[[int, Endpoint], Endpoint]
"""Returns where other nodes and clients reach the node of an id that listens at an endpoint."""

SHORT_TIMEOUTS = {
    # Long enough for a busy machine, short enough for a test that waits for an election.
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.fetch.timeout.ms": "700",
    "controller.quorum.election.backoff.max.ms": "100",
    "controller.quorum.request.timeout.ms": "700",
}


def write_properties(path: Path, properties: Mapping[str, str]) -> Path:
    """Write a file of properties and return its path; neither keys nor values may need escapes."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return path


def quorum_properties(
    directory: Path, voters: int, settings: Mapping[str, str], *, advertise: Advertise | None = None
) -> dict[int, Properties]:
    """Return the configurations of the nodes 1 to `voters` of one quorum.

    Args:
        directory: gets a log directory for each node.
        voters: how many.
        settings: further keys of all of them.
        advertise: where the nodes are reached; where they listen if None.
    """
    listeners = {node_id: Endpoint(HOST, port) for node_id, port in enumerate(free_ports(voters), start=1)}
    advertised = {node_id: advertise(node_id, listener) for node_id, listener in listeners.items()} if advertise else {}
    quorum_voters = ",".join(f"{node_id}@{endpoint}" for node_id, endpoint in (listeners | advertised).items())
    configurations = {
        node_id: controller_properties(
            directory / f"node-{node_id}",
            node_id=node_id,
            port=listener.port,
            settings={"controller.quorum.voters": quorum_voters, **settings},
        )
        for node_id, listener in listeners.items()
    }
    for node_id, endpoint in advertised.items():
        configurations[node_id]["advertised.listeners"] = f"CONTROLLER://{endpoint}"
    return configurations


def controller_properties(log_dir: Path, *, node_id: int, port: int, settings: Mapping[str, str]) -> Properties:
    """Return the configuration of one node.

    Args:
        log_dir: its log directory.
        node_id: its id.
        port: where it listens.
        settings: further keys; the voters or the bootstrap servers are among them.
    """
    return {
        "node.id": str(node_id),
        "process.roles": "controller",
        "cluster.id": CLUSTER_ID,
        "listeners": f"CONTROLLER://{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(log_dir),
        **settings,
    }


def voters_properties(directory: Path, *, voters: int = 3, **overrides: str) -> dict[int, Properties]:
    """Return the configurations of a quorum with short timeouts; see `quorum_properties`.

    Args:
        directory: gets a log directory for each node.
        voters: how many.
        overrides: further keys, with "__" for the dots: `message__max__bytes="1000"`.
    """
    return quorum_properties(directory, voters, SHORT_TIMEOUTS | _with_dots(overrides))


def node_properties(log_dir: Path, *, node_id: int, port: int, **overrides: str) -> Properties:
    """Return the configuration of one node with short timeouts; see `controller_properties`.

    Args:
        log_dir: its log directory.
        node_id: its id.
        port: where it listens.
        overrides: see `voters_properties`.
    """
    return controller_properties(log_dir, node_id=node_id, port=port, settings=SHORT_TIMEOUTS | _with_dots(overrides))


def bootstrap_servers(*configurations: Properties) -> str:
    """Return where these nodes listen, as `controller.quorum.bootstrap.servers` names it."""
    return ",".join(properties["listeners"].removeprefix("CONTROLLER://") for properties in configurations)


def with_client_listeners(configurations: Mapping[int, Properties]) -> dict[int, Properties]:
    """Return the configurations with a second listener, CLIENT, for each node."""
    ports = dict(zip(configurations, free_ports(len(configurations)), strict=True))
    endpoints = ",".join(f"{node_id}@{HOST}:{port}" for node_id, port in ports.items())
    return {
        node_id: {
            **properties,
            "listeners": f"{properties['listeners']},CLIENT://{HOST}:{ports[node_id]}",
            "listener.name.client.quorum.voters": endpoints,
        }
        for node_id, properties in configurations.items()
    }


def _with_dots(overrides: Mapping[str, str]) -> dict[str, str]:
    return {key.replace("__", "."): value for key, value in overrides.items()}
