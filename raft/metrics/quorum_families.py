"""Elections, and how far replicas are behind. Kafka has no metrics for these."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from raft.core import RaftCore
from raft.core.roles import Follower, Leader
from raft.metrics.elections import Ballot, ElectionOutcome, Elections, Vote
from raft.metrics.families import counter, gauge, gauges
from raft.metrics.leader_contact import LeaderContact

_BALLOT = ["ballot"]
_VOTE = ["ballot", "outcome"]
_VOTES = [Vote(ballot, outcome) for ballot in Ballot for outcome in ElectionOutcome]


def election_families(elections: Elections) -> Iterator[Metric]:
    """Yield the counters of elections and votes; pre-votes and standard votes differ in a label (METRIC-5)."""
    yield counter(
        "kraft_elections",
        "Elections that this node has begun: rounds of pre-votes, and rounds of votes.",
        _BALLOT,
        [([ballot.value], elections.rounds[ballot]) for ballot in Ballot],
    )
    yield counter(
        "kraft_elections_won",
        "Elections that this node has won: rounds of pre-votes, and rounds of votes.",
        _BALLOT,
        [([ballot.value], elections.won[ballot]) for ballot in Ballot],
    )
    yield counter(
        "kraft_votes_asked",
        "Votes that this node has asked other nodes for.",
        _BALLOT,
        [([ballot.value], elections.asked[ballot]) for ballot in Ballot],
    )
    yield counter(
        "kraft_votes_received",
        "Responses of other nodes to these requests: granted or refused.",
        _VOTE,
        [([vote.ballot.value, vote.outcome.value], elections.received[vote]) for vote in _VOTES],
    )
    yield counter(
        "kraft_votes_cast",
        "Responses of this node to other nodes that asked for its vote: granted or refused.",
        _VOTE,
        [([vote.ballot.value, vote.outcome.value], elections.cast[vote]) for vote in _VOTES],
    )


def replica_families(core: RaftCore, contact: LeaderContact, *, now_ms: int, core_now_ms: int) -> Iterator[Metric]:
    """Yield how far this node is behind its leader or, on the leader, how far the other voters are behind.

    Args:
        core: of the node.
        contact: with the leader.
        now_ms: the present time of the meter's clock.
        core_now_ms: that of the core's clock.
    """
    role, end_offset = core.role, core.log.end_offset
    follows = isinstance(role, Follower)
    yield gauge(
        "kraft_behind_records",
        "Records that the leader has committed and this node does not have; on followers and observers.",
        contact.behind_records(end_offset) if follows else None,
    )
    yield gauge(
        "kraft_behind_seconds",
        "Seconds since this node last knew to have all committed records of its leader; on followers and observers. "
        "Up to half a second is usual, because the leader holds a fetch so long when there is nothing new.",
        contact.behind_ms(now_ms) / 1000 if follows else None,
    )
    voters = role.progress.voters if isinstance(role, Leader) else {}
    yield gauges(
        "kraft_voter_behind_records",
        "Records of the log that another voter has not fetched; on the leader. The whole log for a voter that has not "
        "fetched from this leader yet.",
        ["voter"],
        [
            ([str(voter)], end_offset - (progress.fetch_offset or core.log.start_offset))
            for voter, progress in voters.items()
        ],
    )
    yield gauges(
        "kraft_voter_last_fetch_age_seconds",
        "Seconds since another voter last fetched; on the leader.",
        ["voter"],
        [
            ([str(voter)], (core_now_ms - progress.last_fetch_ms) / 1000)
            for voter, progress in voters.items()
            if progress.last_fetch_ms is not None
        ],
    )
