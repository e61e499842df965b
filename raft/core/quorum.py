"""Quorum arithmetic: who votes, what a majority is, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from raft.types import Endpoint, NodeId, Offset, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One voter: its key (without a directory id under kraft.version 0) and where it listens."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]


class VoterSet:
    """The voters of the quorum, by node id."""

    __slots__ = ("_by_id",)

    def __init__(self, voters: Iterable[Voter]) -> None:
        self._by_id = {voter.key.node_id: voter for voter in voters}

    @classmethod
    def static(cls, addresses: Mapping[NodeId, Endpoint]) -> VoterSet:
        """The voters of `controller.quorum.voters`: known by id alone (kraft.version 0)."""
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
        """How many voters decide."""
        return len(self._by_id) // 2 + 1

    def is_voter(self, replica: ReplicaKey) -> bool:
        """Whether this replica votes; a voter's id with another directory id does not (GEN-14)."""
        voter = self._by_id.get(replica.node_id)
        return voter is not None and voter.key.matches(replica)

    def others(self, node_id: NodeId) -> tuple[NodeId, ...]:
        """All voters but this one, in order."""
        return tuple(voter for voter in self._by_id if voter != node_id)

    def key(self, node_id: NodeId) -> ReplicaKey:
        """The key of a voter. Raises KeyError for others."""
        return self._by_id[node_id].key

    def endpoints(self, node_id: NodeId) -> tuple[Endpoint, ...]:
        """Where a node listens; empty when it is no voter."""
        voter = self._by_id.get(node_id)
        return voter.endpoints if voter else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Votes of one round, own vote included. `voters` are all that may vote."""

    voters: frozenset[NodeId]
    granted: frozenset[NodeId]
    refused: frozenset[NodeId] = frozenset()

    @classmethod
    def opened_by(cls, node_id: NodeId, voters: VoterSet) -> Tally:
        """A round in which only the node that opens it has voted, for itself (ROLE-12)."""
        return cls(voters=frozenset(voters.ids), granted=frozenset([node_id]))

    @property
    def majority(self) -> int:
        """Grants that win."""
        return len(self.voters) // 2 + 1

    @property
    def unanswered(self) -> frozenset[NodeId]:
        """Voters whose answer is still out."""
        return self.voters - self.granted - self.refused

    @property
    def is_won(self) -> bool:
        """Whether a majority granted."""
        return len(self.granted) >= self.majority

    @property
    def is_lost(self) -> bool:
        """Whether no majority can be had any more, whatever the others say."""
        return len(self.granted) + len(self.unanswered) < self.majority

    def with_answer(self, voter: NodeId, *, granted: bool) -> Tally:
        """The tally after this answer; a later answer of the same voter replaces the earlier one."""
        return replace(
            self,
            granted=self.granted | {voter} if granted else self.granted - {voter},
            refused=self.refused - {voter} if granted else self.refused | {voter},
        )


def next_high_watermark(
    durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
) -> Offset | None:
    """Return the high watermark after the latest fetches and flushes, or None while unknown.

    Args:
        durable_offsets: one per voter, the leader too: all below is on its disk; None for one not heard of yet.
        epoch_start_offset: first offset this leader wrote in its own epoch.
        high_watermark: the value before; None until this epoch has one.

    Returns:
        The largest offset a majority holds, once it lies past `epoch_start_offset`: records of earlier epochs commit
        only together with one of this epoch, else a later leader could still erase them (Raft 5.4.2, SCENARIO-27).

    Source: KIP-595 "Fetch"; Kafka LeaderState.maybeUpdateHighWatermark.
    """
    unknown_last = sorted((-1 if offset is None else offset for offset in durable_offsets), reverse=True)
    held_by_majority = Offset(unknown_last[len(unknown_last) // 2])
    if held_by_majority <= epoch_start_offset:
        return high_watermark
    # A changed voter set, or a voter that lost data, can compute less than before; what is committed stays committed.
    return held_by_majority if high_watermark is None else max(high_watermark, held_by_majority)
