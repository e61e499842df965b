"""The ways by which nodes ask each other."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from raft.core.messages import FetchRequest, FetchSnapshotRequest, OutgoingRequest
from raft.types import NodeId


class Lane(Enum):
    """The two connections by which a node asks another, as `raft.node.peer_network` has them."""

    FETCHES = "fetches"
    ELECTIONS = "everything else"

    @classmethod
    def of(cls, request: OutgoingRequest) -> Lane:
        """Which of them a request takes."""
        return cls.FETCHES if isinstance(request, FetchRequest | FetchSnapshotRequest) else cls.ELECTIONS


class Connection(NamedTuple):
    """One way by which a node asks another."""

    sender: NodeId
    receiver: NodeId
    lane: Lane
