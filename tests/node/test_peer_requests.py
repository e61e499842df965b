"""Requests of replicas: which a node accepts, and what it responds to FetchSnapshot and UpdateRaftVoter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import messages as core
from raft.errors import ErrorCode
from raft.types import ZERO_UUID, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from raft.wire.apis import FETCH_SNAPSHOT
from raft.wire.messages.fetch import FetchReplicaState, FetchResponse
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartition,
    FetchSnapshotRequestTopic,
    FetchSnapshotResponse,
    FetchSnapshotResponsePartition,
    SnapshotId,
)
from raft.wire.messages.nodes import LeaderIdAndEpoch
from raft.wire.messages.update_raft_voter import (
    CurrentLeader,
    KRaftVersionFeature,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from tests.node.harness.pair import Pair
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import fetch_request

OTHER_CLUSTER = "another-cluster-of-22c"
FAR_EPOCH = Epoch(1000)
_OTHER = ReplicaKey(NodeId(2))
_FAR = OffsetAndEpoch(epoch=Epoch(900), offset=Offset(900))


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(
            core.VoteRequest(
                cluster_id=OTHER_CLUSTER, epoch=FAR_EPOCH, candidate=_OTHER, candidate_log_end=_FAR, pre_vote=False
            ),
            id="Vote",
        ),
        pytest.param(
            core.BeginQuorumEpochRequest(
                cluster_id=OTHER_CLUSTER, leader=LeaderAndEpoch(epoch=FAR_EPOCH, leader_id=NodeId(2))
            ),
            id="Begin",
        ),
        pytest.param(
            core.EndQuorumEpochRequest(
                cluster_id=OTHER_CLUSTER, leader=LeaderAndEpoch(epoch=FAR_EPOCH, leader_id=NodeId(2))
            ),
            id="End",
        ),
        pytest.param(
            core.FetchRequest(
                cluster_id=OTHER_CLUSTER,
                replica=_OTHER,
                epoch=FAR_EPOCH,
                fetch_offset=Offset(0),
                last_fetched_epoch=Epoch(0),
                max_wait_ms=0,
                max_bytes=1,
            ),
            id="Fetch",
        ),
    ],
)
@pytest.mark.rule("CLUSTERID-2", "CLUSTERID-3", "SCENARIO-39")
def test_node_of_another_cluster_is_refused_and_changes_nothing(leading: Pair, request_: core.OutgoingRequest) -> None:
    epoch = leading.epoch

    response = leading.ask(request_)

    assert response == core.RequestRefused(error=ErrorCode.INCONSISTENT_CLUSTER_ID)
    assert leading.epoch == epoch
    assert leading.is_leading


@pytest.mark.parametrize("version", range(12, 19))
@pytest.mark.rule("FETCH-6")
def test_replica_sees_what_is_not_committed(uncommitted: Pair, version: int) -> None:
    offset = uncommitted.high_watermark or 0
    request = fetch_request(
        offset, epoch=uncommitted.epoch, last_fetched_epoch=uncommitted.epoch, cluster_id=CLUSTER_ID
    )
    as_replica = (
        replace(request, replica_state=FetchReplicaState(replica_id=9))
        if version >= 15
        else replace(request, replica_id=9)
    )

    with uncommitted.wire() as wire:
        response = wire.ask(as_replica, version, FetchResponse)

    assert response.error_code == ErrorCode.NONE
    assert response.responses[0].partitions[0].records


@pytest.mark.parametrize("version", range(4, 12))
@pytest.mark.rule("COMPAT-3")
def test_replica_of_an_old_version_is_refused(uncommitted: Pair, version: int) -> None:
    with uncommitted.wire() as wire:
        response = wire.ask(replace(fetch_request(0), replica_id=2), version, FetchResponse)

    codes = [partition.error_code for topic in response.responses for partition in topic.partitions]
    # Before version 7 there is no field for an error of the whole request.
    assert (response.error_code, codes) == ((42, []) if version >= 7 else (0, [42]))


def snapshot_request(
    pair: Pair,
    *,
    cluster_id: str | None = CLUSTER_ID,
    topic: str = TOPIC,
    partition: int = 0,
    later: int = 0,
    partitions: int = 1,
) -> FetchSnapshotRequest:
    asked = FetchSnapshotRequestPartition(
        partition=partition,
        current_leader_epoch=pair.epoch + later,
        snapshot_id=SnapshotId(end_offset=5, epoch=1),
        position=0,
    )
    return FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=2,
        topics=(FetchSnapshotRequestTopic(name=topic, partitions=(asked,) * partitions),),
    )


def ask_snapshot(pair: Pair, version: int, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    with pair.wire() as wire:
        return wire.ask(request, version, FetchSnapshotResponse)


EVERY_VERSION = pytest.mark.parametrize("version", [*FETCH_SNAPSHOT.versions])


@EVERY_VERSION
@pytest.mark.parametrize("cluster_id", [CLUSTER_ID, None])
@pytest.mark.rule("FETCH-18")
def test_leader_has_no_snapshots(leading: Pair, version: int, cluster_id: str | None) -> None:
    response = ask_snapshot(leading, version, snapshot_request(leading, cluster_id=cluster_id))

    assert response.error_code == ErrorCode.NONE
    assert response.topics[0].partitions == (
        FetchSnapshotResponsePartition(
            index=0,
            error_code=ErrorCode.SNAPSHOT_NOT_FOUND,
            snapshot_id=SnapshotId(end_offset=5, epoch=1),
            current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=leading.epoch),
            size=0,
            position=0,
            unaligned_records=b"",
        ),
    )


@EVERY_VERSION
@pytest.mark.parametrize(
    ("later", "topic", "error"),
    [
        pytest.param(-1, "other", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, id="the topic before the epoch"),
        pytest.param(-1, TOPIC, ErrorCode.FENCED_LEADER_EPOCH, id="the epoch before the role: lower"),
        pytest.param(1, TOPIC, ErrorCode.UNKNOWN_LEADER_EPOCH, id="the epoch before the role: higher"),
        pytest.param(0, TOPIC, ErrorCode.NOT_LEADER_OR_FOLLOWER, id="the role before the snapshot"),
    ],
)
@pytest.mark.rule("ERROR-1", "FETCH-18")
def test_first_fault_of_a_snapshot_request_counts(
    following: Pair, version: int, later: int, topic: str, error: ErrorCode
) -> None:
    response = ask_snapshot(following, version, snapshot_request(following, topic=topic, later=later))

    assert response.topics[0].partitions[0].error_code == error
    assert response.topics[0].partitions[0].current_leader == LeaderIdAndEpoch(
        leader_id=2, leader_epoch=following.epoch
    )


@EVERY_VERSION
@pytest.mark.parametrize(
    ("cluster_id", "partitions", "error"),
    [
        (OTHER_CLUSTER, 2, ErrorCode.INCONSISTENT_CLUSTER_ID),
        (CLUSTER_ID, 2, ErrorCode.INVALID_REQUEST),
        (CLUSTER_ID, 0, ErrorCode.INVALID_REQUEST),
    ],
)
@pytest.mark.rule("ERROR-1", "CLUSTERID-2")
def test_snapshot_request_of_another_form_is_refused_as_a_whole(
    leading: Pair, version: int, cluster_id: str, partitions: int, error: ErrorCode
) -> None:
    request = snapshot_request(leading, cluster_id=cluster_id, partitions=partitions, topic="other", later=3)

    response = ask_snapshot(leading, version, request)

    assert (response.error_code, response.topics) == (error, ())


def update_voter(pair: Pair, *, cluster_id: str | None = CLUSTER_ID) -> UpdateRaftVoterResponse:
    request = UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=pair.epoch,
        voter_id=2,
        voter_directory_id=ZERO_UUID,
        listeners=(),
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )
    with pair.wire() as wire:
        return wire.ask(request, 0, UpdateRaftVoterResponse)


@pytest.mark.parametrize("cluster_id", [CLUSTER_ID, None])
@pytest.mark.rule("COMPAT-7")
def test_leader_acknowledges_the_update_of_a_java_voter(leading: Pair, cluster_id: str | None) -> None:
    place = leading.nodes.endpoint(1)

    assert update_voter(leading, cluster_id=cluster_id) == UpdateRaftVoterResponse(
        error_code=ErrorCode.NONE,
        current_leader=CurrentLeader(leader_id=1, leader_epoch=leading.epoch, host=place.host, port=place.port),
    )


@pytest.mark.rule("COMPAT-7")
def test_follower_sends_a_java_voter_to_the_leader(following: Pair) -> None:
    place = following.nodes.endpoint(2)

    assert update_voter(following) == UpdateRaftVoterResponse(
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        current_leader=CurrentLeader(leader_id=2, leader_epoch=following.epoch, host=place.host, port=place.port),
    )


@pytest.mark.rule("CLUSTERID-2")
def test_java_voter_of_another_cluster_is_refused(leading: Pair) -> None:
    assert update_voter(leading, cluster_id=OTHER_CLUSTER).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
