"""The API versions between nodes, some of which may run an older Kafka."""

from __future__ import annotations

from collections.abc import Collection

from raft.core.messages import OutgoingRequest
from raft.types import NodeId
from raft.wire.apis import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH, VOTE
from raft.wire.mapping.replica_messages import api_of

_OLD_VERSIONS = {VOTE.key: 1, BEGIN_QUORUM_EPOCH.key: 1, END_QUORUM_EPOCH.key: 1, FETCH.key: 17}
"""The versions of Kafka in October 2024, without pre-votes and without the high watermark in fetches."""


class Versions:
    """Chooses the API version of each request.

    Attributes:
        old_nodes: the nodes of the older version.
    """

    def __init__(self, old_nodes: Collection[NodeId]) -> None:
        self.old_nodes = old_nodes

    def between(self, one: NodeId, other: NodeId, request: OutgoingRequest) -> int:
        """Return the version in which one node sends a request to the other."""
        api = api_of(request)
        is_old = one in self.old_nodes or other in self.old_nodes
        return _OLD_VERSIONS.get(api.key, api.versions.highest) if is_old else api.versions.highest
