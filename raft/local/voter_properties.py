"""What a voter of a local quorum is told: what its place in the quorum asks for, and the user's settings."""

from __future__ import annotations

from collections.abc import Mapping

from raft.config import NodeConfig
from raft.errors import ConfigError
from raft.local.layout import Layout
from raft.types import Endpoint, NodeId

_OTHER_NAMES_OF_LOG_DIRS = frozenset(["log.dir", "metadata.log.dir"])


def voter_properties(layout: Layout, node_id: NodeId, settings: Mapping[str, str | int]) -> dict[str, str]:
    """Return a voter's configuration.

    Raises:
        ConfigError: a setting is one that the quorum gives each voter itself.
    """
    own = {
        "node.id": str(node_id),
        "process.roles": "controller",
        "cluster.id": layout.cluster_id,
        "listeners": f"CONTROLLER://{layout.voter_endpoints[node_id]},CLIENT://{layout.endpoints[node_id]}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": _voters(layout.voter_endpoints),
        "listener.name.client.quorum.voters": _voters(layout.endpoints),
        "raft.voters.verify.address": "true",
        "log.dirs": str(layout.log_dir(node_id)),
    }
    for key, value in settings.items():
        if key in own or key in _OTHER_NAMES_OF_LOG_DIRS:
            raise ConfigError(f"{key}={value}: expected other settings; a local quorum sets this one for each voter")
    return own | {key: str(value) for key, value in settings.items()}


def _voters(endpoints: Mapping[NodeId, Endpoint]) -> str:
    return ",".join(f"{voter}@{endpoint}" for voter, endpoint in endpoints.items())


def check_properties(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Check a voter's configuration as the voter will, before it runs.

    Returns:
        What there is to warn of; the voter says it too, but into a log where nobody looks.

    Raises:
        ConfigError: the voter would refuse it; says key and value, and what is allowed.
    """
    config = NodeConfig.from_properties(properties)
    if str(config.log_dir) != properties["log.dirs"]:
        raise ConfigError(f"log.dirs={properties['log.dirs']}: expected a path without commas, which separate paths")
    return config.warnings
