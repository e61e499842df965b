"""Requests in the name of replicas, by API, and the responses that refuse them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.types import ZERO_UUID
from raft.wire.messages import begin_quorum_epoch as begin
from raft.wire.messages import end_quorum_epoch as end
from raft.wire.messages import fetch, vote
from raft.wire.messages import fetch_snapshot as snapshot
from raft.wire.messages import update_raft_voter as update
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import fetch_request

REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
OLD_EPOCH, HIGH_EPOCH = 0, 99

Request = Callable[[Sequence[int], int], Message]
"""Makes a request in the name of these replicas, which the first five APIs can name only one of, at an epoch."""


class InName(NamedTuple):
    """A request in the name of replicas, its version, and the response that refuses it."""

    make: Request
    version: int
    refusal: Message


def vote_request(names: Sequence[int], epoch: int) -> Message:
    """Vote."""
    partitions = tuple(
        vote.VoteRequestPartition(
            partition_index=0, replica_epoch=epoch, replica_id=name, last_offset_epoch=epoch, last_offset=1000
        )
        for name in names
    )
    topics = tuple(vote.VoteRequestTopic(topic_name=TOPIC, partitions=(each,)) for each in partitions)
    return vote.VoteRequest(cluster_id=CLUSTER_ID, topics=topics)


def begin_request(names: Sequence[int], epoch: int) -> Message:
    """BeginQuorumEpoch."""
    partitions = tuple(
        begin.BeginQuorumEpochRequestPartition(partition_index=0, leader_id=name, leader_epoch=epoch) for name in names
    )
    topics = tuple(begin.BeginQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(each,)) for each in partitions)
    return begin.BeginQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=topics)


def end_request(names: Sequence[int], epoch: int) -> Message:
    """EndQuorumEpoch."""
    partitions = tuple(
        end.EndQuorumEpochRequestPartition(partition_index=0, leader_id=name, leader_epoch=epoch) for name in names
    )
    topics = tuple(end.EndQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(each,)) for each in partitions)
    return end.EndQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=topics)


def update_request(names: Sequence[int], epoch: int) -> Message:
    """UpdateRaftVoter."""
    (name,) = names
    return update.UpdateRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        current_leader_epoch=epoch,
        voter_id=name,
        voter_directory_id=ZERO_UUID,
        listeners=(),
        kraft_version_feature=update.KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )


def fetch_as(names: Sequence[int], epoch: int) -> Message:
    """Fetch, up to version 14."""
    (name,) = names
    return replace(fetch_request(0, epoch=epoch), replica_id=name)


def new_fetch_as(names: Sequence[int], epoch: int) -> Message:
    """Fetch, from version 15 on."""
    (name,) = names
    return replace(fetch_request(0, epoch=epoch), replica_state=fetch.FetchReplicaState(replica_id=name))


def snapshot_request(names: Sequence[int], epoch: int) -> Message:
    """FetchSnapshot."""
    (name,) = names
    part = snapshot.FetchSnapshotRequestPartition(
        partition=0,
        current_leader_epoch=epoch,
        snapshot_id=snapshot.SnapshotId(end_offset=1, epoch=1),
        position=0,
    )
    topic = snapshot.FetchSnapshotRequestTopic(name=TOPIC, partitions=(part,))
    return snapshot.FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=name, topics=(topic,))


BY_VOTERS = {
    "Vote": InName(vote_request, 2, vote.VoteResponse(error_code=REFUSED, topics=())),
    "BeginQuorumEpoch": InName(begin_request, 1, begin.BeginQuorumEpochResponse(error_code=REFUSED, topics=())),
    "EndQuorumEpoch": InName(end_request, 1, end.EndQuorumEpochResponse(error_code=REFUSED, topics=())),
    "UpdateRaftVoter": InName(update_request, 0, update.UpdateRaftVoterResponse(error_code=REFUSED)),
}
BY_REPLICAS = {
    "Fetch": InName(fetch_as, 12, fetch.FetchResponse(error_code=REFUSED, responses=())),
    "Fetch with state": InName(new_fetch_as, 17, fetch.FetchResponse(error_code=REFUSED, responses=())),
    "FetchSnapshot": InName(snapshot_request, 1, snapshot.FetchSnapshotResponse(error_code=REFUSED, topics=())),
}
OF_VOTERS = [pytest.param(*case, id=name) for name, case in BY_VOTERS.items()]
OF_REPLICAS = [pytest.param(*case, id=name) for name, case in BY_REPLICAS.items()]
