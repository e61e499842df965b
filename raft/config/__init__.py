"""The configuration of a node: properties with Kafka's keys, all of them checked before the node starts."""

from raft.config.client_listeners import ClientListener
from raft.config.node import NodeConfig, Voters
from raft.config.sources import parse_overrides, read_properties

__all__ = ["ClientListener", "NodeConfig", "Voters", "parse_overrides", "read_properties"]
