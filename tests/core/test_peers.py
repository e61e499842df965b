"""Requests under way and back-offs, against two dictionaries (GEN-6..8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raft.core.peers import Peers
from raft.types import NodeId
from tests.core.wording import vote_request

REQUEST = vote_request(epoch=5)
TWO, THREE = NodeId(2), NodeId(3)


def some_peers() -> Peers:
    return Peers(request_timeout_ms=2000, retry_backoff_ms=20)


@pytest.mark.rule("GEN-6")
def test_peer_is_busy_until_its_answer_is_taken() -> None:
    peers = some_peers()
    number = peers.sent(TWO, REQUEST, 0)

    assert not peers.is_ready(TWO, 0)
    assert peers.is_ready(THREE, 0)
    with pytest.raises(AssertionError, match="two requests at once to node 2"):
        peers.sent(TWO, REQUEST, 0)

    pending = peers.take(number)
    assert pending is not None
    assert (pending.node_id, pending.request) == (TWO, REQUEST)
    assert peers.is_ready(TWO, 0)
    assert peers.take(number) is None, "an answer is taken once"


@pytest.mark.rule("GEN-7")
def test_forgotten_requests_have_no_answers_and_numbers_are_not_used_again() -> None:
    peers = some_peers()
    first = peers.sent(TWO, REQUEST, 0)
    peers.back_off(THREE, 0)

    peers.forget()

    assert peers.take(first) is None
    assert not peers.has_pending
    assert peers.is_ready(THREE, 0)
    assert peers.deadlines_ms() == []
    assert peers.sent(TWO, REQUEST, 0) != first


@pytest.mark.rule("GEN-8")
@pytest.mark.parametrize(("now_ms", "is_ready"), [(100, False), (119, False), (120, True)])
def test_peer_is_left_alone_for_the_back_off(now_ms: int, is_ready: bool) -> None:
    peers = some_peers()

    peers.back_off(TWO, 100)

    assert peers.is_ready(TWO, now_ms) is is_ready
    assert peers.is_backing_off(TWO, now_ms) is not is_ready


@pytest.mark.rule("GEN-8")
@pytest.mark.parametrize(("now_ms", "count"), [(1999, 0), (2000, 1), (5000, 1)])
def test_request_is_overdue_when_its_time_is_over(now_ms: int, count: int) -> None:
    peers = some_peers()
    peers.sent(TWO, REQUEST, 0)

    assert len(peers.take_overdue(now_ms)) == count
    assert peers.has_pending is (count == 0)


@pytest.mark.rule("GEN-8", "FETCH-20")
def test_peer_that_did_not_answer_in_time_is_ready_again_and_pointed_out_once() -> None:
    peers = some_peers()
    peers.sent(TWO, REQUEST, 0)
    assert not peers.take_timed_out(TWO)

    peers.take_overdue(2000)

    assert peers.is_ready(TWO, 2000)
    assert not peers.take_timed_out(THREE)
    assert peers.take_timed_out(TWO)
    assert not peers.take_timed_out(TWO)


@pytest.mark.rule("GEN-7")
def test_request_that_was_forgotten_is_overdue_all_the_same_when_nothing_answers() -> None:
    peers = some_peers()
    peers.sent(NodeId(1), REQUEST, 0)
    peers.forget()
    peers.sent(NodeId(1), REQUEST, 500)

    assert [late.node_id for late in peers.take_overdue(1999)] == []
    assert [late.node_id for late in peers.take_overdue(2000)] == [NodeId(1)]
    assert peers.has_pending, "the younger one still has time"


def test_request_that_was_forgotten_is_settled_by_the_answer_to_a_younger_one() -> None:
    peers = some_peers()
    peers.sent(NodeId(1), REQUEST, 0)
    peers.forget()
    peers.take(peers.sent(NodeId(1), REQUEST, 500))

    assert peers.take_overdue(5000) == []
    assert peers.deadlines_ms() == []


def test_forgotten_peers_have_not_timed_out() -> None:
    peers = some_peers()
    peers.sent(TWO, REQUEST, 0)
    peers.take_overdue(2000)

    peers.forget()

    assert not peers.take_timed_out(TWO)


events = st.lists(
    st.tuples(
        st.sampled_from(["send", "answer", "back off", "overdue", "past", "forget"]),
        st.integers(1, 3).map(NodeId),
        st.integers(0, 1500),
    ),
    max_size=30,
)


@given(events)
@settings(max_examples=60)
@pytest.mark.rule("GEN-6", "GEN-7", "GEN-8")
def test_peers_agree_with_a_simple_model(steps: list[tuple[str, NodeId, int]]) -> None:
    peers, now_ms = some_peers(), 0
    pending: dict[NodeId, tuple[int, int]] = {}
    forgotten: list[tuple[NodeId, int]] = []
    backing_off: dict[NodeId, int] = {}

    for what, node_id, passed_ms in steps:
        now_ms += passed_ms
        match what:
            case "send" if peers.is_ready(node_id, now_ms):
                pending[node_id] = (peers.sent(node_id, REQUEST, now_ms), now_ms + 2000)
            case "answer" if node_id in pending:
                number, _ = pending.pop(node_id)
                taken = peers.take(number)
                assert taken is not None
                assert taken.node_id == node_id
                # Answers come in order: what was asked there before is settled, too.
                forgotten = [(node, until_ms) for node, until_ms in forgotten if node != node_id]
            case "back off":
                peers.back_off(node_id, now_ms)
                backing_off[node_id] = now_ms + 20
            case "overdue":
                overdue = {late for late, (_, until_ms) in pending.items() if until_ms <= now_ms}
                silent = overdue | {node for node, until_ms in forgotten if until_ms <= now_ms}
                assert {late.node_id for late in peers.take_overdue(now_ms)} == silent
                forgotten = [(node, until_ms) for node, until_ms in forgotten if node not in silent]
                pending = {node: rest for node, rest in pending.items() if node not in overdue}
            case "past":
                peers.forget_past_back_offs(now_ms)
                backing_off = {node: until_ms for node, until_ms in backing_off.items() if until_ms > now_ms}
            case "forget":
                peers.forget()
                forgotten += [(node, until_ms) for node, (_, until_ms) in pending.items()]
                pending, backing_off = {}, {}
            case _:
                pass  # a request to a busy peer, or an answer that nobody waits for

        for node in (NodeId(1), NodeId(2), NodeId(3)):
            assert peers.is_ready(node, now_ms) == (node not in pending and backing_off.get(node, 0) <= now_ms)
        assert peers.has_pending == bool(pending)
        deadlines_ms = [until_ms for _, until_ms in (*pending.values(), *forgotten)]
        assert sorted(peers.deadlines_ms()) == sorted([*deadlines_ms, *backing_off.values()])
