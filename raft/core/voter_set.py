"""The voters of the quorum: their ids, keys and addresses, and how many of them are a majority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from raft.types import Endpoint, NodeId, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One voter: its key (without a directory id under kraft.version 0) and the endpoints at which it listens."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]


class VoterSet:
    """The voters of the quorum, by node id."""

    __slots__ = ("_by_id",)

    def __init__(self, voters: Iterable[Voter]) -> None:
        self._by_id = {voter.key.node_id: voter for voter in voters}

    @classmethod
    def static(cls, addresses: Mapping[NodeId, Endpoint]) -> VoterSet:
        """Return the voters of a static quorum, which are known by their ids alone (kraft.version 0)."""
        return cls(
            Voter(key=ReplicaKey(node_id), endpoints=(endpoint,)) for node_id, endpoint in sorted(addresses.items())
        )

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """All node ids, in order."""
        return tuple(self._by_id)

    @property
    def majority(self) -> int:
        """The smallest number of voters that is more than half of them."""
        return len(self._by_id) // 2 + 1

    def is_voter(self, replica: ReplicaKey) -> bool:
        """Whether this replica is a voter; a replica with a voter's id and another directory id is not (GEN-14)."""
        voter = self._by_id.get(replica.node_id)
        return voter is not None and voter.key.matches(replica)

    def others(self, node_id: NodeId) -> tuple[NodeId, ...]:
        """All voters except this one, in order."""
        return tuple(voter for voter in self._by_id if voter != node_id)

    def key(self, node_id: NodeId) -> ReplicaKey:
        """The key of a voter. Raises KeyError for a node that is not a voter."""
        return self._by_id[node_id].key

    def endpoints(self, node_id: NodeId) -> tuple[Endpoint, ...]:
        """The endpoints of a node; empty when it is not a voter."""
        voter = self._by_id.get(node_id)
        return voter.endpoints if voter else ()
