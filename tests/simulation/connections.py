"""The connections between nodes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from raft.core.messages import OutgoingRequest, is_for_records
from raft.types import NodeId


class ConnectionKind(Enum):
    """The two connections from one node to another, as in `raft.node.peer_network`."""

    FETCHES = "fetches"
    OTHERS = "all other requests"

    @classmethod
    def of(cls, request: OutgoingRequest) -> ConnectionKind:
        """Return the connection that a request uses."""
        return cls.FETCHES if is_for_records(request) else cls.OTHERS


class Connection(NamedTuple):
    """One connection on which a node sends requests to another."""

    sender: NodeId
    receiver: NodeId
    kind: ConnectionKind
