"""Requests and responses of replicas, from the core to the bytes of every version and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from raft.codec import Message, decode, encode
from raft.core import messages as core
from raft.errors import DecodeError, LocalProtocolError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Endpoint, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey, Uuid
from raft.wire.apis import APIS, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH, VOTE, Api
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.replica_messages import (
    api_of,
    request_from_wire,
    request_to_wire,
    response_from_wire,
    response_to_wire,
)
from raft.wire.messages.end_quorum_epoch import (
    EndQuorumEpochRequest,
    EndQuorumEpochRequestPartition,
    EndQuorumEpochRequestTopic,
    PreferredCandidate,
)
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.codec.samples import sample
from tests.codec.strategies import FEW, MANY
from tests.wire import core_values as values

OURS = TopicPartition(topic_name="__cluster_metadata", topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ"))
DIRECTORY = Uuid("AAECAwQFBgcICQoLDA0ODw")

PEER_APIS = (VOTE, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH)
FIRST_FETCH_OF_REPLICAS = 12

AnyApi = Api[Any, Any]


def sent(request: core.OutgoingRequest, version: int) -> core.IncomingRequest:
    """The request as the other side reads it."""
    return request_from_wire(through_bytes(request_to_wire(request, OURS, version), version), OURS, version)


def answered(response: core.Response, api: AnyApi, version: int, records: bytes = b"") -> core.Response:
    """The response as the sender of the request reads it."""
    request = sample(api.request, version)
    return response_from_wire(through_bytes(response_to_wire(request, response, OURS, version, records), version))


def through_bytes(message: Message, version: int) -> Message:
    return decode(type(message), version, encode(message, version))


def without_directory(key: ReplicaKey) -> ReplicaKey:
    return ReplicaKey(key.node_id)


@pytest.mark.parametrize("version", [*VOTE.versions])
@MANY
@given(values.vote_requests)
def test_vote_request_keeps_all_fields_of_its_version(version: int, request: core.VoteRequest) -> None:
    assume(version >= 2 or not request.pre_vote)
    expected = request
    if version == 0:
        expected = replace(request, candidate=without_directory(request.candidate), voter=None)

    assert sent(request, version) == expected


@pytest.mark.parametrize("version", [*BEGIN_QUORUM_EPOCH.versions])
@MANY
@given(values.begin_requests)
def test_begin_quorum_epoch_request_keeps_all_fields_of_its_version(
    version: int, request: core.BeginQuorumEpochRequest
) -> None:
    expected = request if version >= 1 else replace(request, voter=None, leader=replace(request.leader, endpoints=()))

    assert sent(request, version) == expected


@pytest.mark.parametrize("version", [*END_QUORUM_EPOCH.versions])
@MANY
@given(values.end_requests)
@pytest.mark.rule("END-3")
def test_end_quorum_epoch_request_keeps_all_fields_of_its_version(
    version: int, request: core.EndQuorumEpochRequest
) -> None:
    expected = request
    if version == 0:
        successors = tuple(map(without_directory, request.preferred_successors))
        expected = replace(request, preferred_successors=successors, leader=replace(request.leader, endpoints=()))

    assert sent(request, version) == expected


@pytest.mark.parametrize("version", range(FIRST_FETCH_OF_REPLICAS, FETCH.versions.highest + 1))
@MANY
@given(values.fetch_requests)
def test_fetch_of_a_replica_keeps_all_fields_of_its_version(version: int, request: core.FetchRequest) -> None:
    received = sent(request, version)

    assert isinstance(received, core.FetchRequest)
    if version < 18:
        # Its high watermark is not read then.
        assert not received.wants_high_watermark
        received = replace(received, high_watermark=request.high_watermark, wants_high_watermark=True)
    expected = request if version >= 17 else replace(request, replica=without_directory(request.replica))
    assert received == expected


@pytest.mark.parametrize(
    ("api", "responses"),
    [
        pytest.param(VOTE, values.vote_responses, id="Vote"),
        pytest.param(BEGIN_QUORUM_EPOCH, values.begin_responses, id="BeginQuorumEpoch"),
        pytest.param(END_QUORUM_EPOCH, values.end_responses, id="EndQuorumEpoch"),
    ],
)
@MANY
@given(data=st.data())
@pytest.mark.rule("GEN-4")
def test_response_to_a_replica_keeps_all_fields_of_its_version(
    api: AnyApi, responses: SearchStrategy[Any], data: st.DataObject
) -> None:
    version = data.draw(st.sampled_from(list(api.versions)))
    response = data.draw(responses)
    can_name_endpoints = version >= 1 and response.leader.leader_id is not None
    expected = response if can_name_endpoints else replace(response, leader=replace(response.leader, endpoints=()))

    assert answered(response, api, version) == expected


@pytest.mark.parametrize("version", range(FIRST_FETCH_OF_REPLICAS, FETCH.versions.highest + 1))
@MANY
@given(values.fetch_responses)
@pytest.mark.rule("GEN-4", "FETCH-10")
def test_response_to_a_fetch_keeps_all_fields_of_its_version(version: int, response: core.FetchResponse) -> None:
    can_name_endpoints = version >= 16 and response.leader.leader_id is not None
    expected = response if can_name_endpoints else replace(response, leader=replace(response.leader, endpoints=()))

    assert answered(response, FETCH, version) == expected


@pytest.mark.rule("FETCH-24")
def test_batches_of_a_fetch_arrive_up_to_the_first_damaged_one() -> None:
    batches = [build_batch([Record(value=b"v")], base_offset=Offset(at), epoch=Epoch(3)) for at in range(3)]
    damaged = batches[2][:-1] + b"!"
    response = core.FetchResponse(leader=LeaderAndEpoch(epoch=Epoch(3), leader_id=NodeId(1)))

    received = answered(response, FETCH, 18, records=batches[0] + batches[1] + damaged)

    assert isinstance(received, core.FetchResponse)
    assert [batch.payload for batch in received.batches] == batches[:2]


def test_response_has_one_endpoint_of_the_leader() -> None:
    places = (Endpoint("a", 1), Endpoint("b", 2))
    leader = LeaderAndEpoch(epoch=Epoch(3), leader_id=NodeId(1), endpoints=places)
    response = core.VoteResponse(leader=leader)

    assert answered(response, VOTE, 2) == replace(response, leader=replace(leader, endpoints=places[:1]))


@pytest.mark.parametrize(
    ("api", "version"),
    [
        pytest.param(api, version, id=f"{api.name}-v{version}")
        for api in PEER_APIS
        for version in api.versions
        # Older Fetch responses have no field for an error of the whole request.
        if api is not FETCH or version >= 7
    ],
)
@FEW
@given(values.errors.filter(bool))
@pytest.mark.rule("ERROR-4")
def test_refusal_of_a_whole_request_arrives_without_a_partition(api: AnyApi, version: int, error: int) -> None:
    refusal = core.RequestRefused(error=error)
    message = response_to_wire(sample(api.request, version), refusal, OURS, version)

    assert not getattr(message, "topics", None)
    assert not getattr(message, "responses", None)
    assert answered(refusal, api, version) == refusal


@pytest.mark.rule("COMPAT-2")
@pytest.mark.parametrize("version", [0, 1])
def test_pre_vote_is_not_encoded_in_a_version_without_pre_votes(version: int) -> None:
    request = core.VoteRequest(
        cluster_id=None,
        epoch=Epoch(1),
        candidate=ReplicaKey(NodeId(1)),
        candidate_log_end=OffsetAndEpoch(epoch=Epoch(0), offset=Offset(0)),
        pre_vote=True,
    )

    with pytest.raises(LocalProtocolError, match="pre_vote"):
        encode(request_to_wire(request, OURS, version), version)


@pytest.mark.parametrize(
    ("successors", "candidates", "expected"),
    [
        pytest.param((2, 3), (), (ReplicaKey(NodeId(2)), ReplicaKey(NodeId(3))), id="ids alone"),
        pytest.param((), ((3, DIRECTORY),), (ReplicaKey(NodeId(3), DIRECTORY),), id="keys alone"),
        pytest.param((2,), ((3, DIRECTORY),), (ReplicaKey(NodeId(3), DIRECTORY),), id="keys before ids"),
        pytest.param((), (), (), id="none"),
    ],
)
@pytest.mark.rule("END-3")
def test_successors_are_read_from_either_list(
    successors: tuple[int, ...], candidates: tuple[tuple[int, Uuid], ...], expected: tuple[ReplicaKey, ...]
) -> None:
    partition = EndQuorumEpochRequestPartition(
        partition_index=0,
        leader_id=1,
        leader_epoch=5,
        preferred_successors=successors,
        preferred_candidates=tuple(
            PreferredCandidate(candidate_id=node_id, candidate_directory_id=directory)
            for node_id, directory in candidates
        ),
    )
    topic = EndQuorumEpochRequestTopic(topic_name=OURS.topic_name, partitions=(partition,))

    received = request_from_wire(EndQuorumEpochRequest(topics=(topic,)), OURS, 1)

    assert received == core.EndQuorumEpochRequest(
        cluster_id=None,
        leader=LeaderAndEpoch(epoch=Epoch(5), leader_id=NodeId(1)),
        preferred_successors=expected,
    )


@pytest.mark.parametrize(
    ("api", "requests"),
    [
        pytest.param(VOTE, values.vote_requests, id="Vote"),
        pytest.param(BEGIN_QUORUM_EPOCH, values.begin_requests, id="BeginQuorumEpoch"),
        pytest.param(END_QUORUM_EPOCH, values.end_requests, id="EndQuorumEpoch"),
        pytest.param(FETCH, values.fetch_requests, id="Fetch"),
    ],
)
@FEW
@given(data=st.data())
def test_request_travels_by_its_api(
    api: AnyApi, requests: SearchStrategy[core.OutgoingRequest], data: st.DataObject
) -> None:
    assert api_of(data.draw(requests)) is api


def test_other_messages_do_not_pass_between_replicas() -> None:
    with pytest.raises(AssertionError, match="MetadataRequest is not a request between replicas"):
        request_from_wire(MetadataRequest(topics=None), OURS, 9)
    with pytest.raises(AssertionError, match="MetadataRequest is not a request between replicas"):
        response_to_wire(MetadataRequest(topics=None), core.RequestRefused(error=1), OURS, 9)
    with pytest.raises(DecodeError, match="MetadataResponse, which is not a response between replicas"):
        response_from_wire(MetadataResponse(brokers=(), topics=()))
    assert set(PEER_APIS) < set(APIS.values())
