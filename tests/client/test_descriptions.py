"""What one node says of itself and of its features; the description by the leader is tested with the other calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.client import descriptions
from raft.client.results import NodeDescription, QuorumDescription
from raft.errors import ErrorCode, QuorumUnavailableError, RequestError
from raft.types import Epoch, NodeId, Offset
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages.api_versions import ApiVersionsResponse, SupportedFeature
from tests.client.table import CLUSTER_ID, OUR_VERSIONS, PLACES, TOPIC, Response, Table, metadata, node, session
from tests.client.test_calls import described

OWN = quorum.ReplicaState(replica_id=2, log_end_offset=10)
OWN_VIEW = quorum.DescribeQuorumResponsePartition(
    partition_index=0,
    error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
    error_message=f"{quorum.OWN_VIEW_PREFIX}Follower",
    leader_id=1,
    leader_epoch=3,
    high_watermark=9,
    current_voters=(OWN,),
    observers=(),
)


def response_with(partition: quorum.DescribeQuorumResponsePartition) -> quorum.DescribeQuorumResponse:
    topic = quorum.DescribeQuorumResponseTopic(topic_name=TOPIC, partitions=(partition,))
    return quorum.DescribeQuorumResponse(error_code=0, topics=(topic,))


def describe(*responses: Response, knows: Response = None) -> QuorumDescription | NodeDescription:
    table = Table({PLACES[2]: node(*responses, knows=knows)})
    return table.run(descriptions.describe_node(session(2), table.deadline(), PLACES[2]))


@pytest.mark.rule("DESCRIBE-2")
def test_follower_describes_itself() -> None:
    described_node = describe(response_with(OWN_VIEW))

    assert described_node == NodeDescription(
        cluster_id=CLUSTER_ID,
        node_id=NodeId(2),
        role="Follower",
        is_voter=True,
        leader_id=NodeId(1),
        leader_epoch=Epoch(3),
        log_end_offset=Offset(10),
        high_watermark=Offset(9),
    )


@pytest.mark.rule("DESCRIBE-2")
def test_observer_without_a_leader_describes_itself() -> None:
    own = replace(OWN_VIEW, current_voters=(), observers=(OWN,), leader_id=-1, high_watermark=-1)

    described_node = describe(response_with(own))

    assert isinstance(described_node, NodeDescription)
    assert (described_node.is_voter, described_node.leader_id, described_node.high_watermark) == (False, None, None)


@pytest.mark.rule("DESCRIBE-2")
def test_leader_describes_the_quorum() -> None:
    described_quorum = describe(described())

    assert isinstance(described_quorum, QuorumDescription)
    assert (described_quorum.cluster_id, described_quorum.leader_id) == (CLUSTER_ID, 1)


@pytest.mark.parametrize(
    "partition",
    [
        pytest.param(replace(OWN_VIEW, error_message=None), id="no message, as from Apache Kafka"),
        pytest.param(replace(OWN_VIEW, error_message="not the leader"), id="another message"),
        pytest.param(replace(OWN_VIEW, current_voters=()), id="no replica"),
        pytest.param(replace(OWN_VIEW, observers=(OWN,)), id="two replicas"),
    ],
)
def test_node_that_does_not_describe_itself_is_named(partition: quorum.DescribeQuorumResponsePartition) -> None:
    with pytest.raises(
        RequestError, match=f"{PLACES[2]}: NOT_LEADER_OR_FOLLOWER, and it does not describe itself"
    ) as refused:
        describe(response_with(partition))

    assert refused.value.code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_node_that_refuses_the_whole_request_is_named() -> None:
    with pytest.raises(RequestError, match=f"{PLACES[2]}: CLUSTER_AUTHORIZATION_FAILED"):
        describe(described(top_error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))


@pytest.mark.parametrize(
    ("responses", "knows", "reason"),
    [
        pytest.param((None,), "closed", "closed", id="to the first request"),
        pytest.param(("closed",), metadata(), "closed", id="to the second request"),
        pytest.param((None,), metadata(), "no response in time", id="in time"),
    ],
)
def test_node_that_does_not_respond_is_named(responses: tuple[Response, ...], knows: Response, reason: str) -> None:
    with pytest.raises(QuorumUnavailableError, match=f"{PLACES[2]}: .*{reason}"):
        describe(*responses, knows=knows)


def test_features_are_those_of_the_node_that_is_asked() -> None:
    feature = SupportedFeature(name="kraft.spark.version", min_version=0, max_version=7)
    served = ApiVersionsResponse(error_code=0, api_keys=(), supported_features=(feature,))
    table = Table({PLACES[1]: node(OUR_VERSIONS), PLACES[2]: node(served, serves=served)})

    found = table.run(descriptions.features(session(1), table.deadline(), PLACES[2]))

    assert found == {"kraft.spark.version": 7}


def test_node_without_features_is_named_when_it_does_not_respond() -> None:
    table = Table({})

    with pytest.raises(QuorumUnavailableError, match=f"{PLACES[2]}: .*Connection refused"):
        table.run(descriptions.features(session(1), table.deadline(), PLACES[2]))
