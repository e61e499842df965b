"""The interface through which the engine sends requests to other nodes."""

from __future__ import annotations

from typing import Protocol

from raft.core.effects import SendRequest
from raft.types import NodeId


class Network(Protocol):
    """Sends requests to other nodes. Each response or failure is submitted to the engine as an event."""

    def send(self, request: SendRequest) -> None:
        """Send a request."""
        ...

    def disconnect(self, node_id: NodeId) -> None:
        """Close the connections to a node."""
        ...
