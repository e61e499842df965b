"""The votes of one round of pre-votes or votes. Kafka calls it EpochElection."""

from __future__ import annotations

from dataclasses import dataclass, replace

from raft.core.voter_set import VoterSet
from raft.types import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Votes of one round, own vote included. `voters` are all that may vote."""

    voters: frozenset[NodeId]
    granted: frozenset[NodeId]
    refused: frozenset[NodeId] = frozenset()

    @classmethod
    def opened_by(cls, node_id: NodeId, voters: VoterSet) -> Tally:
        """Return a new round, in which only the node that opens it has voted, for itself (ROLE-12)."""
        return cls(voters=frozenset(voters.ids), granted=frozenset([node_id]))

    @property
    def majority(self) -> int:
        """The number of granted votes that wins."""
        return len(self.voters) // 2 + 1

    @property
    def unrecorded(self) -> frozenset[NodeId]:
        """Voters whose response has not come yet."""
        return self.voters - self.granted - self.refused

    @property
    def is_won(self) -> bool:
        """Whether a majority has granted its vote."""
        return len(self.granted) >= self.majority

    @property
    def is_lost(self) -> bool:
        """Whether a majority can no longer be reached, whatever the other voters respond."""
        return len(self.granted) + len(self.unrecorded) < self.majority

    def with_vote(self, voter: NodeId, *, granted: bool) -> Tally:
        """Return the tally after this response; a later response of the same voter replaces its earlier one."""
        return replace(
            self,
            granted=self.granted | {voter} if granted else self.granted - {voter},
            refused=self.refused - {voter} if granted else self.refused | {voter},
        )
