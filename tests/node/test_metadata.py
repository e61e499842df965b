"""Metadata and DescribeCluster: the nodes, the leader, the topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.core import messages as core
from raft.errors import ErrorCode
from raft.types import ZERO_UUID, Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey, Uuid
from raft.wire.apis import DESCRIBE_CLUSTER, METADATA
from raft.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair
from tests.node.harness.properties import CLUSTER_ID, TOPIC, voters_properties
from tests.node.harness.requests import OTHER_TOPIC_ID, TOPIC_ID

FIRST_BY_ID = 12


def metadata(
    nodes: NodesInProcess, topics: tuple[MetadataRequestTopic, ...] | None, version: int, *, of_node: int = 1
) -> MetadataResponse:
    with nodes.wire(of_node) as wire:
        return wire.ask(MetadataRequest(topics=topics), version, MetadataResponse)


def sole_topic(response: MetadataResponse) -> MetadataResponseTopic:
    (topic,) = response.topics
    return topic


@pytest.mark.parametrize("version", [*METADATA.versions])
def test_node_names_all_nodes_and_its_topic(three: NodesInProcess, version: int) -> None:
    leader = three.wait_for_leader()

    response = metadata(three, () if version == 0 else None, version)

    assert [(broker.node_id, broker.host, broker.port) for broker in response.brokers] == [
        (node_id, three.endpoint(node_id).host, three.endpoint(node_id).port) for node_id in (1, 2, 3)
    ]
    assert response.controller_id == (leader if version >= 1 else -1)
    assert response.cluster_id == (CLUSTER_ID if version >= 2 else None)
    topic = sole_topic(response)
    assert (topic.name, topic.error_code) == (TOPIC, ErrorCode.NONE)
    assert topic.topic_id == (TOPIC_ID if version >= 10 else ZERO_UUID)
    (partition,) = topic.partitions
    assert (partition.error_code, partition.partition_index, partition.leader_id) == (ErrorCode.NONE, 0, leader)
    assert partition.leader_epoch == (three.running[leader].core.epoch if version >= 7 else -1)
    assert partition.replica_nodes == partition.isr_nodes == (1, 2, 3)


@pytest.mark.parametrize("of_node", [1, 2, 3])
@pytest.mark.rule("DESCRIBE-1")
def test_every_node_names_the_leader(three: NodesInProcess, of_node: int) -> None:
    leader = three.wait_for_leader()

    response = metadata(three, None, METADATA.versions.highest, of_node=of_node)

    assert response.controller_id == leader
    assert sole_topic(response).partitions[0].leader_id == leader


@pytest.mark.parametrize("version", [version for version in METADATA.versions if version >= 1])
def test_client_gets_only_the_nodes_when_it_requests_no_topic(three: NodesInProcess, version: int) -> None:
    response = metadata(three, (), version)

    assert response.topics == ()
    assert len(response.brokers) == 3


@pytest.mark.parametrize("version", [*METADATA.versions])
def test_topic_is_found_by_its_name(three: NodesInProcess, version: int) -> None:
    response = metadata(three, (MetadataRequestTopic(name=TOPIC),), version)

    assert (sole_topic(response).name, sole_topic(response).error_code) == (TOPIC, ErrorCode.NONE)
    assert len(sole_topic(response).partitions) == 1


@pytest.mark.parametrize("version", [*METADATA.versions])
def test_unknown_name_is_no_topic(three: NodesInProcess, version: int) -> None:
    response = metadata(three, (MetadataRequestTopic(name="other"),), version)

    assert response.topics == (
        MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name="other", topic_id=ZERO_UUID, partitions=()
        ),
    )


@pytest.mark.parametrize("version", [version for version in METADATA.versions if version >= FIRST_BY_ID])
@pytest.mark.parametrize(
    ("topic_id", "error", "name"),
    [
        pytest.param(TOPIC_ID, ErrorCode.NONE, TOPIC, id="ours"),
        pytest.param(OTHER_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID, None, id="another"),
    ],
)
def test_topic_is_found_by_its_id(
    three: NodesInProcess, version: int, topic_id: Uuid, error: ErrorCode, name: str | None
) -> None:
    response = metadata(three, (MetadataRequestTopic(topic_id=topic_id, name=None),), version)

    topic = sole_topic(response)
    assert (topic.topic_id, topic.error_code, topic.name) == (topic_id, error, name)


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic_id", [TOPIC_ID, OTHER_TOPIC_ID])
def test_topic_is_not_found_by_id_in_versions_whose_response_needs_a_name(
    three: NodesInProcess, version: int, topic_id: Uuid
) -> None:
    response = metadata(three, (MetadataRequestTopic(topic_id=topic_id, name=None),), version)

    topic = sole_topic(response)
    assert (topic.topic_id, topic.error_code, topic.name) == (topic_id, ErrorCode.INVALID_REQUEST, "")


def test_response_has_each_of_several_topics(three: NodesInProcess) -> None:
    asked = (MetadataRequestTopic(name="other"), MetadataRequestTopic(name=TOPIC))

    response = metadata(three, asked, METADATA.versions.highest)

    assert [topic.name for topic in response.topics] == ["other", TOPIC]


@pytest.mark.rule("READ-4")
def test_node_names_its_own_rack_and_no_other(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=3, broker__rack="zone-a")
    with NodesInProcess(configurations) as nodes:
        nodes.start(2)

        brokers = {
            version: metadata(nodes, None, version, of_node=2).brokers for version in METADATA.versions if version
        }
        with nodes.wire(2) as wire:
            request = DescribeClusterRequest(include_cluster_authorized_operations=False)
            cluster = wire.ask(request, DESCRIBE_CLUSTER.versions.highest, DescribeClusterResponse)

    racks = {1: None, 2: "zone-a", 3: None}
    for named in brokers.values():
        assert {broker.node_id: broker.rack for broker in named} == racks
    assert {broker.broker_id: broker.rack for broker in cluster.brokers} == racks


def test_node_responds_without_a_leader_when_it_knows_none(following: Pair) -> None:
    # A pre-vote of a later epoch makes the node forget the leader that was known.
    following.ask(
        core.VoteRequest(
            cluster_id=CLUSTER_ID,
            epoch=Epoch(following.epoch + 1),
            candidate=ReplicaKey(NodeId(2)),
            candidate_log_end=OffsetAndEpoch(epoch=Epoch(0), offset=Offset(0)),
            pre_vote=True,
        )
    )

    response = metadata(following.nodes, None, METADATA.versions.highest)

    partition = sole_topic(response).partitions[0]
    assert response.controller_id == partition.leader_id == -1
    assert partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE


@pytest.mark.parametrize("version", [*DESCRIBE_CLUSTER.versions])
@pytest.mark.parametrize("endpoint_type", [1, 2])
def test_cluster_is_its_nodes_and_its_leader(three: NodesInProcess, version: int, endpoint_type: int) -> None:
    leader = three.wait_for_leader()
    asked_type = endpoint_type if version >= 1 else 1
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=asked_type)

    with three.wire(2) as wire:
        response = wire.ask(request, version, DescribeClusterResponse)

    assert (response.error_code, response.endpoint_type, response.cluster_id) == (
        ErrorCode.NONE,
        asked_type,
        CLUSTER_ID,
    )
    assert response.controller_id == leader
    assert [(broker.broker_id, broker.port) for broker in response.brokers] == [
        (node_id, three.endpoint(node_id).port) for node_id in (1, 2, 3)
    ]
