"""Requests in flight and backoffs, against two dictionaries (GEN-6..8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raft.core.request_manager import RequestManager
from raft.types import NodeId
from tests.core.wording import vote_request

REQUEST = vote_request(epoch=5)
TWO, THREE = NodeId(2), NodeId(3)


def a_manager() -> RequestManager:
    return RequestManager(request_timeout_ms=2000, retry_backoff_ms=20)


@pytest.mark.rule("GEN-6")
def test_manager_says_that_a_node_is_busy_when_its_response_has_not_come() -> None:
    manager = a_manager()
    number = manager.on_request_sent(TWO, REQUEST, 0)

    assert not manager.is_ready(TWO, 0)
    assert manager.is_ready(THREE, 0)
    with pytest.raises(AssertionError, match="two requests at once to node 2"):
        manager.on_request_sent(TWO, REQUEST, 0)

    taken = manager.take(number)
    assert taken is not None
    assert (taken.node_id, taken.request) == (TWO, REQUEST)
    assert manager.is_ready(TWO, 0)
    assert manager.take(number) is None, "a response is taken once"


@pytest.mark.rule("GEN-7")
def test_manager_expects_no_response_and_uses_no_number_twice_when_it_was_reset() -> None:
    manager = a_manager()
    first = manager.on_request_sent(TWO, REQUEST, 0)
    manager.back_off(THREE, 0)

    manager.reset_all()

    assert manager.take(first) is None
    assert not manager.has_inflight
    assert manager.is_ready(THREE, 0)
    assert manager.deadlines_ms() == []
    assert manager.on_request_sent(TWO, REQUEST, 0) != first


@pytest.mark.rule("GEN-8")
@pytest.mark.parametrize(("now_ms", "is_ready"), [(100, False), (119, False), (120, True)])
def test_manager_says_that_a_node_is_not_ready_when_it_backs_off(now_ms: int, is_ready: bool) -> None:
    manager = a_manager()

    manager.back_off(TWO, 100)

    assert manager.is_ready(TWO, now_ms) is is_ready
    assert manager.is_backing_off(TWO, now_ms) is not is_ready


@pytest.mark.rule("GEN-8")
@pytest.mark.parametrize(("now_ms", "count"), [(1999, 0), (2000, 1), (5000, 1)])
def test_manager_times_a_request_out_when_its_deadline_has_passed(now_ms: int, count: int) -> None:
    manager = a_manager()
    manager.on_request_sent(TWO, REQUEST, 0)

    assert len(manager.take_overdue(now_ms)) == count
    assert manager.has_inflight is (count == 0)


@pytest.mark.rule("GEN-8", "FETCH-20")
def test_manager_says_once_that_a_node_timed_out_when_its_request_has() -> None:
    manager = a_manager()
    manager.on_request_sent(TWO, REQUEST, 0)
    assert not manager.forget_timeout(TWO)

    manager.take_overdue(2000)

    assert manager.is_ready(TWO, 2000)
    assert not manager.forget_timeout(THREE)
    assert manager.forget_timeout(TWO)
    assert not manager.forget_timeout(TWO)


@pytest.mark.rule("GEN-7")
def test_manager_times_out_requests_from_before_a_reset_when_no_response_comes() -> None:
    manager = a_manager()
    manager.on_request_sent(NodeId(1), REQUEST, 0)
    manager.reset_all()
    manager.on_request_sent(NodeId(1), REQUEST, 500)

    assert [request.node_id for request in manager.take_overdue(1999)] == []
    assert [request.node_id for request in manager.take_overdue(2000)] == [NodeId(1)]
    assert manager.has_inflight, "the later one still has time"


def test_manager_removes_requests_from_before_a_reset_when_a_later_one_has_its_response() -> None:
    manager = a_manager()
    manager.on_request_sent(NodeId(1), REQUEST, 0)
    manager.reset_all()
    manager.take(manager.on_request_sent(NodeId(1), REQUEST, 500))

    assert manager.take_overdue(5000) == []
    assert manager.deadlines_ms() == []


def test_manager_reports_no_timeout_when_it_was_reset() -> None:
    manager = a_manager()
    manager.on_request_sent(TWO, REQUEST, 0)
    manager.take_overdue(2000)

    manager.reset_all()

    assert not manager.forget_timeout(TWO)


events = st.lists(
    st.tuples(
        st.sampled_from(["send", "respond", "back off", "time out", "expire", "reset"]),
        st.integers(1, 3).map(NodeId),
        st.integers(0, 1500),
    ),
    max_size=30,
)


@given(events)
@settings(max_examples=60)
@pytest.mark.rule("GEN-6", "GEN-7", "GEN-8")
def test_manager_agrees_with_a_simple_model_when_anything_happens(steps: list[tuple[str, NodeId, int]]) -> None:
    manager, now_ms = a_manager(), 0
    inflight: dict[NodeId, tuple[int, int]] = {}
    superseded: list[tuple[NodeId, int]] = []
    backing_off: dict[NodeId, int] = {}

    for what, node_id, passed_ms in steps:
        now_ms += passed_ms
        match what:
            case "send" if manager.is_ready(node_id, now_ms):
                inflight[node_id] = (manager.on_request_sent(node_id, REQUEST, now_ms), now_ms + 2000)
            case "respond" if node_id in inflight:
                number, _ = inflight.pop(node_id)
                taken = manager.take(number)
                assert taken is not None
                assert taken.node_id == node_id
                # Responses come in order: earlier requests to that node are settled, too.
                superseded = [(node, until_ms) for node, until_ms in superseded if node != node_id]
            case "back off":
                manager.back_off(node_id, now_ms)
                backing_off[node_id] = now_ms + 20
            case "time out":
                late = {node for node, (_, until_ms) in inflight.items() if until_ms <= now_ms}
                timed_out = late | {node for node, until_ms in superseded if until_ms <= now_ms}
                assert {request.node_id for request in manager.take_overdue(now_ms)} == timed_out
                superseded = [(node, until_ms) for node, until_ms in superseded if node not in timed_out]
                inflight = {node: rest for node, rest in inflight.items() if node not in late}
            case "expire":
                manager.remove_expired_backoffs(now_ms)
                backing_off = {node: until_ms for node, until_ms in backing_off.items() if until_ms > now_ms}
            case "reset":
                manager.reset_all()
                superseded += [(node, until_ms) for node, (_, until_ms) in inflight.items()]
                inflight, backing_off = {}, {}
            case _:
                pass  # A request to a busy node, or a response that is not expected.

        for node in (NodeId(1), NodeId(2), NodeId(3)):
            assert manager.is_ready(node, now_ms) == (node not in inflight and backing_off.get(node, 0) <= now_ms)
        assert manager.has_inflight == bool(inflight)
        deadlines_ms = [until_ms for _, until_ms in (*inflight.values(), *superseded)]
        assert sorted(manager.deadlines_ms()) == sorted([*deadlines_ms, *backing_off.values()])
