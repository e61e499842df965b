"""A request with two faults gets the error of the first, in the order of section 17 (TEST-16, ERROR-1, CLUSTERID)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from raft.core.effects import Effect, SendResponse
from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    IncomingRequest,
    Request,
    RequestRefused,
    UnknownPartitionRequest,
    VoteRequest,
)
from raft.errors import ErrorCode
from raft.types import Epoch, NodeId, Offset
from tests.core.builder import Node, a_config, a_follower, a_leader, a_node
from tests.core.orders import replies, sends
from tests.core.states import unattached
from tests.core.wording import (
    begin_request,
    end_request,
    fetch_request,
    key,
    our_fetch,
    point,
    pre_vote_request,
    vote_request,
    vote_response,
)


def refusal(effects: list[Effect]) -> tuple[int, bool]:
    """The error of the only response, and whether the request was refused as a whole."""
    (reply,) = effects
    assert isinstance(reply, SendResponse)
    return reply.response.error, isinstance(reply.response, RequestRefused)


Fault = Callable[[Any], Any]
"""Makes a valid request invalid."""


def of_another_cluster(request: IncomingRequest) -> IncomingRequest:
    return replace(request, cluster_id="their-cluster")


def for_another_partition(request: Request) -> IncomingRequest:
    return UnknownPartitionRequest(cluster_id=request.cluster_id)


def with_negative_log_end(request: Request) -> Request:
    assert isinstance(request, VoteRequest)
    return replace(request, candidate_log_end=point(3, -1))


def with_negative_wait(request: Request) -> Request:
    assert isinstance(request, FetchRequest)
    return replace(request, max_wait_ms=-1)


def with_epoch(request: Request, epoch: int) -> Request:
    if isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest):
        return replace(request, leader=replace(request.leader, epoch=Epoch(epoch)))
    return replace(request, epoch=Epoch(epoch))


def of_an_older_epoch(request: Request) -> Request:
    return with_epoch(request, 4)


def of_a_later_epoch(request: Request) -> Request:
    return with_epoch(request, 6)


def of_a_negative_node(request: Request) -> Request:
    match request:
        case VoteRequest():
            return replace(request, candidate=replace(request.candidate, node_id=NodeId(-1)))
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return replace(request, leader=replace(request.leader, leader_id=None))
        case FetchRequest():
            return replace(request, replica=replace(request.replica, node_id=NodeId(-1)))


def of_our_own_id(request: Request) -> Request:
    assert isinstance(request, VoteRequest)
    return replace(request, candidate=replace(request.candidate, node_id=NodeId(1)))


def of_ourselves(request: Request) -> Request:
    assert isinstance(request, FetchRequest)
    return replace(request, replica=replace(request.replica, node_id=NodeId(1)))


def meant_for_another(request: Request) -> Request:
    assert isinstance(request, VoteRequest | BeginQuorumEpochRequest)
    return replace(request, voter=key(3))


def past_the_log_end(request: Request) -> Request:
    assert isinstance(request, FetchRequest)
    return replace(request, fetch_offset=Offset(99))


CLUSTER, MALFORMED = ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REQUEST
FENCED, UNKNOWN_EPOCH = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH
NOT_LEADER, WRONG_VOTER = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.INVALID_VOTER_KEY

VOTE_ORDER: list[tuple[Fault, ErrorCode]] = [
    (of_another_cluster, CLUSTER),
    (for_another_partition, MALFORMED),
    (with_negative_log_end, MALFORMED),
    (of_an_older_epoch, FENCED),
    (of_a_negative_node, MALFORMED),
    (of_our_own_id, MALFORMED),
    (meant_for_another, WRONG_VOTER),
]
BEGIN_ORDER: list[tuple[Fault, ErrorCode]] = [
    (of_another_cluster, CLUSTER),
    (for_another_partition, MALFORMED),
    (of_an_older_epoch, FENCED),
    (of_a_negative_node, MALFORMED),
    (meant_for_another, WRONG_VOTER),
]
END_ORDER = BEGIN_ORDER[:-1]
FETCH_ORDER: list[tuple[Fault, ErrorCode]] = [
    (of_another_cluster, CLUSTER),
    (for_another_partition, MALFORMED),
    (with_negative_wait, MALFORMED),
    (of_an_older_epoch, FENCED),
    (of_a_later_epoch, UNKNOWN_EPOCH),
]


def pairs(name: str, sound: Request, order: list[tuple[Fault, ErrorCode]]) -> list[object]:
    """Every two faults of a request; the response has the error of the first in the order."""
    return [
        pytest.param(
            first(second(sound)),
            error,
            first in (of_another_cluster, for_another_partition),
            id=f"{name} {first.__name__} and {second.__name__}",
        )
        for position, (first, error) in enumerate(order)
        for second, _ in order[position + 1 :]
        if {first, second} != {of_an_older_epoch, of_a_later_epoch}
    ]


@pytest.mark.parametrize(
    ("request_", "error", "is_whole"),
    [
        *pairs("vote", vote_request(epoch=5, log_end=(3, 10)), VOTE_ORDER),
        *pairs("pre-vote", pre_vote_request(epoch=5, log_end=(3, 10)), VOTE_ORDER),
        *pairs("begin", begin_request(epoch=5, leader=2), BEGIN_ORDER),
        *pairs("end", end_request(epoch=5, leader=2), END_ORDER),
        *pairs("fetch", fetch_request(by=3, epoch=5, offset=10, last_epoch=3), FETCH_ORDER),
    ],
)
@pytest.mark.rule("TEST-16", "ERROR-1", "ERROR-2", "ERROR-4", "GEN-2", "FETCH-2")
def test_request_with_two_faults_gets_the_error_of_the_first(
    request_: IncomingRequest, error: ErrorCode, is_whole: bool
) -> None:
    node = a_follower(of=2, epoch=5)
    before = node.role

    effects = node.receives(request_)

    assert refusal(effects) == (error, is_whole)
    assert node.role == before


@pytest.mark.parametrize(
    ("node", "request_", "error"),
    [
        pytest.param(
            lambda: a_follower(of=2, epoch=5),
            past_the_log_end(fetch_request(by=3, epoch=5, offset=10, last_epoch=3)),
            NOT_LEADER,
            id="not the leader, and a log that diverges",
        ),
        pytest.param(
            lambda: a_follower(of=2, epoch=5),
            of_ourselves(fetch_request(by=3, epoch=5, offset=10, last_epoch=3)),
            NOT_LEADER,
            id="not the leader, and our own id",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            past_the_log_end(of_an_older_epoch(fetch_request(by=2, epoch=5, offset=10, last_epoch=3))),
            FENCED,
            id="an older epoch, and a log that diverges",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            of_ourselves(of_a_later_epoch(fetch_request(by=2, epoch=5, offset=10, last_epoch=3))),
            UNKNOWN_EPOCH,
            id="a later epoch, and our own id",
        ),
        pytest.param(
            lambda: a_leader(epoch=5),
            with_negative_wait(past_the_log_end(fetch_request(by=2, epoch=5, offset=10, last_epoch=3))),
            MALFORMED,
            id="malformed, and a log that diverges",
        ),
    ],
)
@pytest.mark.rule("TEST-16", "ERROR-1", "FETCH-2")
def test_fetch_is_compared_with_the_log_after_all_other_checks(
    node: Callable[[], Node], request_: Request, error: ErrorCode
) -> None:
    assert refusal(node().receives(request_)) == (error, False)


# Another cluster, or none


ALL_REQUESTS = [
    pytest.param(vote_request(epoch=1000), id="vote"),
    pytest.param(pre_vote_request(epoch=1000), id="pre-vote"),
    pytest.param(begin_request(epoch=1000), id="begin"),
    pytest.param(end_request(epoch=1000), id="end"),
    pytest.param(fetch_request(by=2, epoch=1000, offset=0, last_epoch=0), id="fetch"),
]


@pytest.mark.parametrize("request_", ALL_REQUESTS)
@pytest.mark.rule("CLUSTERID-2", "CLUSTERID-3", "SCENARIO-39", "ROLE-10")
def test_request_of_another_cluster_changes_nothing(request_: Request) -> None:
    node = a_follower(of=3, epoch=5)
    before = node.role

    effects = node.receives(of_another_cluster(request_))

    assert effects == [replies(RequestRefused(error=CLUSTER))]
    assert node.role == before


@pytest.mark.parametrize("request_", ALL_REQUESTS)
@pytest.mark.rule("GEN-2", "ERROR-2", "ROLE-10")
def test_request_for_another_partition_changes_nothing(request_: Request) -> None:
    node = a_follower(of=3, epoch=5)
    before = node.role

    effects = node.receives(for_another_partition(request_))

    assert effects == [replies(RequestRefused(error=MALFORMED))]
    assert node.role == before


@pytest.mark.rule("CLUSTERID-1", "SCENARIO-39")
def test_request_without_a_cluster_id_is_handled_normally() -> None:
    node = a_follower(of=3, epoch=5)

    node.receives(replace(vote_request(epoch=6), cluster_id=None), now_ms=300)

    assert node.role == unattached(epoch=6, voted=2, until=1300)


@pytest.mark.rule("CLUSTERID-4", "FETCH-19")
def test_node_without_a_cluster_id_checks_none_and_sends_none() -> None:
    node = a_node(epoch=5, voted=3, config=replace(a_config(), cluster_id=None))

    assert node.receives(of_another_cluster(vote_request(epoch=5))) == [replies(vote_response(epoch=5))]

    effects = node.receives(begin_request(epoch=5, leader=2))
    assert effects[-1] == sends(replace(our_fetch(epoch=5), cluster_id=None), to=2)
