"""The properties of a voter of a local quorum: those of its place in the quorum, and the settings of the user."""

from __future__ import annotations

from collections.abc import Mapping

from raft.config import NodeConfig
from raft.errors import ConfigError
from raft.local.layout import Layout
from raft.types import Endpoint, NodeId

METRICS_KEY = "metrics.listeners"
_OTHER_NAMES_OF_LOG_DIRS = frozenset(["log.dir", "metadata.log.dir"])


def voter_properties(
    layout: Layout,
    node_id: NodeId,
    settings: Mapping[str, str | int],
    *,
    security: Mapping[str, str],
    metrics: Endpoint | None = None,
) -> dict[str, str]:
    """Return the properties of a voter.

    Args:
        layout: of the quorum.
        node_id: of the voter.
        settings: of the user, for all voters.
        security: the properties by which it knows its callers, and they know it.
        metrics: where the voter serves its metrics; None for nowhere.

    Raises:
        ConfigError: a setting is one that the quorum sets for each voter.
    """
    own = {
        "node.id": str(node_id),
        "process.roles": "controller",
        "cluster.id": layout.cluster_id,
        "listeners": f"CONTROLLER://{layout.voter_endpoints[node_id]},CLIENT://{layout.client_listeners[node_id]}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": _voters(layout.voter_endpoints),
        "listener.name.client.quorum.voters": _voters(layout.endpoints),
        "raft.voters.verify.address": "true",
        "log.dirs": str(layout.log_dir(node_id)),
        **security,
    }
    for key, value in settings.items():
        if key == METRICS_KEY:
            raise ConfigError(f"{key}={value}: expected metrics=True instead, which chooses a port for each voter")
        if key in own or key in _OTHER_NAMES_OF_LOG_DIRS:
            raise ConfigError(f"{key}={value}: expected other settings; a local quorum sets this one for each voter")
    if metrics is not None:
        own[METRICS_KEY] = f"HTTP://{metrics}"
    advertised = {"advertised.listeners": f"CLIENT://{layout.endpoints[node_id]}"}
    return own | advertised | {key: str(value) for key, value in settings.items()}


def _voters(endpoints: Mapping[NodeId, Endpoint]) -> str:
    return ",".join(f"{voter}@{endpoint}" for voter, endpoint in endpoints.items())


def check_properties(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Check the properties of a voter before it starts, as the voter itself does.

    Returns:
        Warnings for the user. The voter logs them too, but users do not read its log.

    Raises:
        ConfigError: the voter would refuse to start, or a key is unknown; names key, value and what is expected.
    """
    config = NodeConfig.from_properties(properties)
    if str(config.log_dir) != properties["log.dirs"]:
        raise ConfigError(f"log.dirs={properties['log.dirs']}: expected a path without commas, which separate paths")
    for key, near in config.unknown_keys.items():
        # A node ignores it, as Kafka's do. Here the user of a library would not see the warning in the node's log.
        hint = f"did you mean {near}?" if near else "expected a property of a node, such as message.max.bytes"
        raise ConfigError(f"settings: unknown key {key}: {hint}")
    return config.warnings
