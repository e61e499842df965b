"""Requests in the name of a node. If they were served, another leader would be elected, or more would be committed."""

from __future__ import annotations

from collections.abc import Callable

from raft.core import messages as core
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey, Uuid
from raft.wire.apis import UPDATE_RAFT_VOTER
from raft.wire.mapping.replica_messages import api_of, request_to_wire
from raft.wire.messages.update_raft_voter import KRaftVersionFeature, UpdateRaftVoterRequest
from tests.simulation.faults.intruder_requests import Draft, Insight
from tests.simulation.starting import CLUSTER_ID, OURS

_FARTHER = 1_000
_MAX_BYTES = 1 << 20
_OLD_FETCH_VERSION = 13
"""It has the replica id in another field."""


def vote(insight: Insight, node_id: NodeId) -> Draft:
    """Ask for the vote of the next epoch, with a log longer than all others."""
    log, epoch = insight.core.log, insight.core.epoch
    return _on_wire(
        core.VoteRequest(
            cluster_id=CLUSTER_ID,
            epoch=Epoch(epoch + 1),
            candidate=ReplicaKey(node_id),
            candidate_log_end=OffsetAndEpoch(epoch=epoch, offset=Offset(log.end_offset + _FARTHER)),
            pre_vote=insight.dice.draw(4) == 0,
        )
    )


def begin_quorum_epoch(insight: Insight, node_id: NodeId) -> Draft:
    """Announce a leader of the next epoch."""
    leader = LeaderAndEpoch(epoch=Epoch(insight.core.epoch + 1), leader_id=node_id)
    return _on_wire(core.BeginQuorumEpochRequest(cluster_id=CLUSTER_ID, leader=leader))


def end_quorum_epoch(insight: Insight, node_id: NodeId) -> Draft:
    """Resign in the name of the leader, or of another node."""
    leader = LeaderAndEpoch(epoch=insight.core.epoch, leader_id=node_id)
    return _on_wire(core.EndQuorumEpochRequest(cluster_id=CLUSTER_ID, leader=leader))


def fetch(insight: Insight, node_id: NodeId) -> Draft:
    """Claim to have the whole log of the leader, so that it commits all of it; or ask for all records."""
    log, dice = insight.core.log, insight.dice
    has_all = dice.draw(3) > 0
    request = core.FetchRequest(
        cluster_id=CLUSTER_ID,
        replica=ReplicaKey(node_id),
        epoch=insight.core.epoch,
        fetch_offset=log.end_offset if has_all else log.start.offset,
        last_fetched_epoch=log.last_epoch if has_all else log.start.epoch,
        max_wait_ms=0,
        max_bytes=_MAX_BYTES,
        high_watermark=insight.core.high_watermark,
    )
    version = _OLD_FETCH_VERSION if dice.draw(3) == 0 else api_of(request).versions.highest
    return request_to_wire(request, OURS, version), version


def fetch_snapshot(insight: Insight, node_id: NodeId) -> Draft:
    """Load the snapshot at the start of the log."""
    return _on_wire(
        core.FetchSnapshotRequest(
            cluster_id=CLUSTER_ID,
            replica=ReplicaKey(node_id),
            epoch=insight.core.epoch,
            snapshot=insight.core.log.start,
            position=0,
            max_bytes=_MAX_BYTES,
        )
    )


def update_raft_voter(insight: Insight, node_id: NodeId) -> Draft:
    """Change the endpoints of a voter."""
    request = UpdateRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        current_leader_epoch=insight.core.epoch,
        voter_id=node_id,
        voter_directory_id=Uuid("AAAAAAAAAAAAAAAAAAAAAA"),
        listeners=(),
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=0),
    )
    return request, UPDATE_RAFT_VOTER.versions.highest


IMPOSTURES: tuple[Callable[[Insight, NodeId], Draft], ...] = (
    vote,
    begin_quorum_epoch,
    end_quorum_epoch,
    fetch,
    fetch_snapshot,
    update_raft_voter,
)


def _on_wire(request: core.OutgoingRequest) -> Draft:
    version = api_of(request).versions.highest
    return request_to_wire(request, OURS, version), version
