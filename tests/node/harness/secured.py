"""Quorums on loopback whose nodes and clients have to prove their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from raft.config import NodeConfig
from raft.config.security import SecurityProtocol
from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.node.harness.keys import NODES, SCRAM, USERS, Keys, jaas
from tests.node.harness.properties import HOST, Properties

VOTERS = "CONTROLLER"
_METRICS = "METRICS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """How a listener is protected.

    Fields:
        protocol: of the listener.
        mechanisms: of SASL; nodes use the first one.
        needs_certificate: whether clients need a certificate.
    """

    protocol: SecurityProtocol
    mechanisms: tuple[str, ...] = ()
    needs_certificate: bool = False


PLAINTEXT = Protection(protocol=SecurityProtocol.PLAINTEXT)
TLS = Protection(protocol=SecurityProtocol.SSL)
MUTUAL_TLS = Protection(protocol=SecurityProtocol.SSL, needs_certificate=True)
TLS_SCRAM = Protection(protocol=SecurityProtocol.SASL_SSL, mechanisms=(SCRAM, "SCRAM-SHA-256"))
TLS_PLAIN = Protection(protocol=SecurityProtocol.SASL_SSL, mechanisms=("PLAIN",))
TLS_BOTH = Protection(protocol=SecurityProtocol.SASL_SSL, mechanisms=("PLAIN", SCRAM))
OPEN_SCRAM = Protection(protocol=SecurityProtocol.SASL_PLAINTEXT, mechanisms=(SCRAM, "SCRAM-SHA-256"))


def secured(
    configurations: Mapping[int, Properties],
    keys: Keys,
    listeners: Mapping[str, Protection],
    **overrides: str,
) -> dict[int, Properties]:
    """Return the configurations of the nodes node1, node2, ... with these listeners, and one for metrics.

    Args:
        configurations: with the listener of the voters alone.
        keys: of the quorum.
        listeners: their protection by their names; that of the voters is among them.
        overrides: further keys, with "__" for the dots.
    """
    names = [name for name in listeners if name != VOTERS]
    ports = _ports(configurations, [*names, _METRICS])
    return {
        node_id: properties
        | {
            "listeners": ",".join(
                (properties["listeners"], *(f"{name}://{HOST}:{ports[name][node_id]}" for name in names))
            ),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protection.protocol.value}" for name, protection in listeners.items()
            ),
            "metrics.listeners": f"HTTP://{HOST}:{ports[_METRICS][node_id]}",
            "raft.authorization.file": str(keys.rules_file),
            "raft.scram.credentials.file": str(keys.credentials_file),
        }
        | _of_listeners(keys, f"node{node_id}", listeners)
        | {
            f"listener.name.{name.lower()}.quorum.voters": ",".join(
                f"{voter}@{HOST}:{port}" for voter, port in ports[name].items()
            )
            for name in names
        }
        | {key.replace("__", "."): value for key, value in overrides.items()}
        for node_id, properties in configurations.items()
    }


def endpoint_of(properties: Mapping[str, str], listener: str) -> Endpoint:
    """Return where a node listens, by the name of the listener."""
    config = NodeConfig.from_properties(properties)
    found = (config.listener, *(each.listener for each in config.client_listeners))
    (endpoint,) = (each for each in found if each.name == listener)
    return endpoint


def _ports(configurations: Mapping[int, Properties], names: Sequence[str]) -> dict[str, dict[int, int]]:
    """Return a port for each of these listeners and each node, by both; none is that of a voters' listener."""
    taken = {int(properties["listeners"].rpartition(":")[2]) for properties in configurations.values()}
    drawn = free_ports(len(names) * len(configurations) + len(taken))
    unused = iter(port for port in drawn if port not in taken)
    return {name: {node_id: next(unused) for node_id in configurations} for name in names}


def _of_listeners(keys: Keys, node: str, listeners: Mapping[str, Protection]) -> Properties:
    properties: Properties = {}
    uses_tls = any(protection.protocol.uses_tls for protection in listeners.values())
    keystore: Path | None = keys.certificate(node) if uses_tls else None
    for name, protection in listeners.items():
        properties |= keys.listener(
            name,
            protection.protocol,
            keystore=keystore,
            mechanisms=protection.mechanisms,
            needs_certificate=protection.needs_certificate,
        )
        if "PLAIN" in protection.mechanisms:
            entry = jaas("PLAIN", node, users=(*NODES, *USERS))
            properties[f"listener.name.{name.lower()}.plain.sasl.jaas.config"] = entry
    of_voters = listeners[VOTERS].mechanisms[:1]
    for mechanism in of_voters:
        properties["sasl.mechanism.controller.protocol"] = mechanism
        if mechanism != "PLAIN":
            key = f"listener.name.{VOTERS.lower()}.{mechanism.lower()}.sasl.jaas.config"
            properties[key] = jaas(mechanism, node)
    return properties
