"""DescribeQuorum: the leader describes the progress of each replica."""

from __future__ import annotations

import time

import pytest

from raft.core import messages as core
from raft.errors import ErrorCode
from raft.types import ZERO_UUID, Epoch, NodeId, Offset, ReplicaKey, Uuid
from raft.wire.apis import DESCRIBE_QUORUM
from raft.wire.messages.describe_quorum import (
    OWN_VIEW_PREFIX,
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartition,
    ReplicaState,
)
from tests.node.harness.pair import Pair
from tests.node.harness.properties import CLUSTER_ID, TOPIC

EVERY_VERSION = pytest.mark.parametrize("version", [*DESCRIBE_QUORUM.versions])
DIRECTORY = Uuid("AAECAwQFBgcICQoLDA0ODw")


def describe(pair: Pair, version: int, *, topic: str = TOPIC, partition: int = 0) -> DescribeQuorumResponse:
    asked = DescribeQuorumRequestTopic(
        topic_name=topic, partitions=(DescribeQuorumRequestPartition(partition_index=partition),)
    )
    with pair.wire() as wire:
        return wire.ask(DescribeQuorumRequest(topics=(asked,)), version, DescribeQuorumResponse)


def sole_partition(response: DescribeQuorumResponse) -> DescribeQuorumResponsePartition:
    ((partition,),) = (topic.partitions for topic in response.topics)
    return partition


def is_now(timestamp_ms: int) -> bool:
    return abs(time.time() * 1000 - timestamp_ms) < 5_000


@EVERY_VERSION
@pytest.mark.rule("DESCRIBE-4", "DESCRIBE-5")
def test_leader_describes_its_quorum(leading: Pair, version: int) -> None:
    end = leading.commit()

    response = describe(leading, version)

    partition = sole_partition(response)
    assert (response.error_code, partition.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (partition.leader_id, partition.leader_epoch) == (1, leading.epoch)
    assert partition.high_watermark == end
    assert [(state.replica_id, state.log_end_offset) for state in partition.current_voters] == [(1, end), (2, end)]
    assert partition.observers == ()
    for state in partition.current_voters:
        assert state.replica_directory_id == ZERO_UUID, "static voters have none"
        times = (state.last_fetch_timestamp, state.last_caught_up_timestamp)
        assert all(is_now(time_ms) for time_ms in times) if version >= 1 else times == (-1, -1)


@EVERY_VERSION
def test_response_has_the_endpoints_of_the_voters(leading: Pair, version: int) -> None:
    response = describe(leading, version)

    named = [
        (node.node_id, listener.name, listener.host, listener.port)
        for node in response.nodes
        for listener in node.listeners
    ]
    places = [(node_id, leading.nodes.endpoint(node_id)) for node_id in (1, 2)]
    expected = [(node_id, place.name, place.host, place.port) for node_id, place in places]
    assert named == (expected if version >= 2 else [])


@EVERY_VERSION
@pytest.mark.rule("DESCRIBE-4", "HW-4")
def test_what_the_leader_does_not_know_yet_is_minus_one(leading: Pair, version: int) -> None:
    partition = sole_partition(describe(leading, version))

    assert partition.high_watermark == -1
    assert partition.current_voters[1] == ReplicaState(replica_id=2, log_end_offset=-1)


@EVERY_VERSION
@pytest.mark.rule("FETCH-16", "DESCRIBE-4")
def test_observer_is_described_by_its_key(leading: Pair, version: int) -> None:
    end = leading.commit()
    leading.ask(
        core.FetchRequest(
            cluster_id=CLUSTER_ID,
            replica=ReplicaKey(NodeId(7), DIRECTORY),
            epoch=Epoch(leading.epoch),
            fetch_offset=Offset(0),
            last_fetched_epoch=Epoch(0),
            max_wait_ms=0,
            max_bytes=1,
        )
    )

    (observer,) = sole_partition(describe(leading, version)).observers

    assert (observer.replica_id, observer.log_end_offset) == (7, 0)
    assert observer.replica_directory_id == (DIRECTORY if version >= 2 else ZERO_UUID)
    assert is_now(observer.last_fetch_timestamp) if version >= 1 else observer.last_fetch_timestamp == -1
    assert observer.last_caught_up_timestamp == -1
    assert leading.high_watermark == end, "an observer does not count"


@EVERY_VERSION
@pytest.mark.rule("DESCRIBE-2", "DESCRIBE-13")
def test_follower_names_the_leader_and_says_what_it_knows_itself(following: Pair, version: int) -> None:
    partition = sole_partition(describe(following, version))

    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (partition.leader_id, partition.leader_epoch) == (2, following.epoch)
    assert partition.high_watermark == -1
    assert partition.current_voters == (ReplicaState(replica_id=1, log_end_offset=following.log_end),)
    assert partition.observers == ()
    assert partition.error_message == (f"{OWN_VIEW_PREFIX}Follower" if version >= 2 else "")


@EVERY_VERSION
@pytest.mark.parametrize(("topic", "partition"), [("other", 0), (TOPIC, 1)])
@pytest.mark.rule("DESCRIBE-2", "ERROR-1")
def test_other_topics_have_no_quorum_here(following: Pair, version: int, topic: str, partition: int) -> None:
    refused = sole_partition(describe(following, version, topic=topic, partition=partition))

    assert (refused.partition_index, refused.error_code) == (partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
