"""Configuration of a node: Java-style `.properties` with Kafka's own keys, checked in full before anything starts."""

from raft.config.client_listeners import ClientListener
from raft.config.node import NodeConfig, Voters
from raft.config.sources import parse_overrides, read_properties

__all__ = ["ClientListener", "NodeConfig", "Voters", "parse_overrides", "read_properties"]
