"""Requests that wait, and the earliest deadline among them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from raft.core.waiting_requests import PendingAppend, WaitingRequests
from raft.types import Offset


def waiting(request_id: int, deadline_ms: int) -> PendingAppend:
    return PendingAppend(
        request_id=request_id, base_offset=Offset(0), end_offset=Offset(1), error=0, deadline_ms=deadline_ms
    )


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9), st.integers(0, 50)),
        st.tuples(st.just("take"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("overdue"), st.just(0), st.integers(0, 50)),
        st.tuples(st.just("all"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


@given(_STEPS)
def test_waiting_requests_are_those_of_a_plain_dictionary(steps: list[tuple[str, int, int]]) -> None:
    requests: WaitingRequests[PendingAppend] = WaitingRequests()
    plain: dict[int, PendingAppend] = {}

    for step, request_id, time_ms in steps:
        if step == "add" and request_id not in plain:
            plain[request_id] = waiting(request_id, time_ms)
            requests.add(plain[request_id])
        elif step == "take":
            assert requests.take(request_id) == plain.pop(request_id, None)
        elif step == "overdue":
            overdue = [request for request in plain.values() if request.deadline_ms <= time_ms]
            assert requests.take_overdue(time_ms) == overdue
            plain = {number: request for number, request in plain.items() if request not in overdue}
        elif step == "all":
            assert requests.take_all() == list(plain.values())
            plain = {}
        assert list(requests) == list(plain.values())
        assert requests.earliest_deadline_ms == min((request.deadline_ms for request in plain.values()), default=None)
