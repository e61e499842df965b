"""Events that are held back, so that the core handles them together (rule SHARE-9)."""

from __future__ import annotations

import pytest

from raft.core.effects import SendResponse
from raft.core.events import AppendRequested, RequestReceived
from raft.core.messages import AppendResponse, VoteRequest
from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch, Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from tests.runtime.one_voter import OneVoter

_PRE_VOTE = VoteRequest(
    cluster_id="c",
    epoch=Epoch(1),
    candidate=ReplicaKey(NodeId(2)),
    candidate_log_end=OffsetAndEpoch(epoch=Epoch(1), offset=Offset(0)),
    pre_vote=True,
)


def a_leader() -> OneVoter:
    node = OneVoter()
    node.wait(100)
    return node


def submit_append(node: OneVoter, responses: list[SendResponse]) -> int:
    """Submit an append of one record; return its request id."""
    payload = build_batch([Record(value=b"value", timestamp_ms=node.scheduler.now_ms())])
    request_id = node.engine.expect_response(responses.append)
    batch = Batch(header=read_header(payload), payload=payload)
    node.engine.submit(AppendRequested(request_id=request_id, batch=batch, timeout_ms=1_000))
    return request_id


def submit_held_append(node: OneVoter, responses: list[SendResponse]) -> int:
    """Submit an append that is held; return its request id."""
    node.engine.hold(True)
    request_id = submit_append(node, responses)
    node.engine.hold(False)
    return request_id


@pytest.mark.rule("SHARE-9")
def test_events_that_are_held_are_handled_when_they_are_settled() -> None:
    node, responses = a_leader(), list[SendResponse]()
    end = node.core.log.end_offset

    for _ in range(3):
        submit_held_append(node, responses)
    node.wait(100)
    held = (node.core.log.end_offset, len(responses))
    node.engine.settle()
    node.wait(0)

    assert held == (end, 0)
    assert node.core.log.end_offset == end + 3
    assert [type(sent.response) for sent in responses] == [AppendResponse] * 3


@pytest.mark.rule("SHARE-9")
def test_events_of_voters_pass_those_that_are_held() -> None:
    node, held, other = a_leader(), list[SendResponse](), list[SendResponse]()

    submit_held_append(node, held)
    node.engine.submit(RequestReceived(request_id=node.engine.expect_response(other.append), request=_PRE_VOTE))
    node.wait(0)

    assert (len(held), len(other)) == (0, 1)
    node.engine.settle()
    node.wait(0)
    assert len(held) == 1


@pytest.mark.rule("SHARE-9")
def test_append_that_was_checked_on_another_thread_stays_behind_those_that_are_held() -> None:
    node, responses = a_leader(), list[SendResponse]()

    held_id = submit_held_append(node, responses)
    checked_id = submit_append(node, responses)
    node.wait(0)
    early = len(responses)
    node.engine.settle()
    node.wait(0)

    assert early == 0
    assert [sent.request_id for sent in responses] == [held_id, checked_id]


@pytest.mark.rule("SHARE-9")
def test_request_whose_sender_has_gone_is_abandoned_after_it_was_held() -> None:
    node, responses = a_leader(), list[SendResponse]()

    request_id = submit_held_append(node, responses)
    node.engine.abandon(request_id)
    node.wait(0)
    node.engine.settle()
    node.wait(0)

    assert responses == []
    assert node.append("after it") == ErrorCode.NONE
