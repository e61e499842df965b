"""Only time passes (rules TIMER, PREVOTE-13, 14, ROLE)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Disconnect
from raft.types import NodeId
from tests.core.builder import (
    Node,
    a_candidate,
    a_config,
    a_follower,
    a_leader,
    a_node,
    a_prospective,
    a_resigned,
    an_unattached,
)
from tests.core.orders import becomes, sends
from tests.core.states import candidate, follower, prospective, unattached
from tests.core.wording import our_fetch, pre_vote_request


@pytest.mark.rule("TIMER-3", "ROLE-11", "PREVOTE-2", "ROLE-12")
def test_unattached_voter_requests_pre_votes_when_it_finds_no_leader_in_time() -> None:
    node = an_unattached(epoch=5, voted=3)
    before = node.role
    assert node.waits(until=999) == []

    effects = node.waits(until=1000)

    after = prospective(epoch=5, voted=3, until=2000)
    assert effects == [
        becomes(after, was=before, reason="election timeout without a leader"),
        sends(pre_vote_request(epoch=5, by=1, to=2), to=2),
        sends(pre_vote_request(epoch=5, by=1, to=3), to=3, number=1),
    ]
    assert node.role == after


@pytest.mark.rule("TIMER-1", "TIMER-2", "TIMER-3", "ROLE-5", "ROLE-6", "ROLE-11", "END-13")
def test_follower_requests_pre_votes_when_its_fetch_timeout_expires() -> None:
    node = a_follower(of=2, epoch=5, voted=3)
    before = node.role
    assert node.waits(until=1999) == []

    effects = node.waits(until=2000)

    after = prospective(epoch=5, leader=2, voted=3, until=3000)
    assert effects == [
        Disconnect(node_id=NodeId(2)),
        becomes(after, was=before, reason="fetch timeout expired"),
        sends(pre_vote_request(epoch=5, by=1, to=2), to=2),
        sends(pre_vote_request(epoch=5, by=1, to=3), to=3, number=1),
    ]
    assert node.role == after


@pytest.mark.rule("PREVOTE-13", "PREVOTE-10", "SCENARIO-42", "SCENARIO-12", "ROLE-11")
def test_prospective_node_returns_to_its_leader_when_its_timeout_expires() -> None:
    node = a_prospective(epoch=5, leader=2, voted=3)
    before = node.role

    effects = node.waits(until=1000)

    after = follower(of=2, epoch=5, voted=3, until=3000, has_fetched=False)
    reason = "election timeout without enough pre-votes"
    assert effects == [becomes(after, was=before, reason=reason), sends(our_fetch(epoch=5), to=2)]
    assert node.role == after


@pytest.mark.parametrize("known", [None, 9], ids=["no leader known", "a leader known by id alone"])
@pytest.mark.rule("PREVOTE-13", "PREVOTE-14", "SCENARIO-42", "TIMER-3", "ROLE-5", "ROLE-6")
def test_prospective_node_draws_a_new_timeout_and_looks_for_the_leader_when_its_timeout_expires(
    known: int | None,
) -> None:
    node = a_prospective(epoch=5, leader=known, voted=3)
    before = node.role

    effects = node.waits(until=1000)

    after = unattached(epoch=5, leader=known, voted=3, until=2000)
    reason = "election timeout without enough pre-votes"
    assert effects == [
        Disconnect(node_id=NodeId(2)),  # Its fetch from before the pre-votes got no response.
        becomes(after, was=before, reason=reason),
        sends(our_fetch(epoch=5), to=2),
    ]
    assert node.role == after


@pytest.mark.rule("SCENARIO-12", "ROLE-4")
def test_follower_whose_fetches_always_time_out_never_raises_its_epoch() -> None:
    node = a_follower(of=2, epoch=5)

    seen = set()
    for now_ms in range(0, 60_000, 500):
        node.waits(until=now_ms)
        seen.add((node.role_name, node.core.epoch, node.core.leader_id))

    assert seen == {("Follower", 5, 2), ("Prospective", 5, 2)}


@pytest.mark.rule("ROLE-7", "PREVOTE-22", "TIMER-3")
@pytest.mark.parametrize(
    "node",
    [
        pytest.param(lambda: an_unattached(epoch=5, voters=(2, 3)), id="unattached"),
        pytest.param(lambda: a_follower(of=2, epoch=5, voters=(2, 3)), id="follower"),
    ],
)
def test_observer_starts_no_election_however_long_it_waits(node: Callable[[], Node]) -> None:
    observer = node()
    before = observer.role

    for now_ms in range(0, 60_000, 500):
        observer.waits(until=now_ms)

    assert observer.role == before


@pytest.mark.rule("TIMER-3")
@pytest.mark.parametrize(
    ("timeout_ms", "drawn", "until"),
    [
        pytest.param(1000, 0, 1000, id="the shortest is T"),
        pytest.param(1000, 999, 1999, id="the longest is just below 2T"),
        pytest.param(1, 0, 1, id="T = 1"),
    ],
)
def test_election_timeout_is_drawn_evenly_from_t_up_to_2t(timeout_ms: int, drawn: int, until: int) -> None:
    dice = []

    def draw(sides: int) -> int:
        dice.append(sides)
        return drawn

    node = a_node(epoch=5, voted=1, config=a_config(election_timeout_ms=timeout_ms), draw=draw)

    assert node.role == candidate(epoch=5, until=until)
    assert dice == [timeout_ms]


@pytest.mark.rule("TIMER-10")
@pytest.mark.parametrize(
    ("node", "deadline_ms"),
    [
        pytest.param(lambda: an_unattached(epoch=5), 1000, id="unattached: election timeout"),
        pytest.param(lambda: a_follower(of=2, epoch=5), 2000, id="follower: fetch timeout"),
        pytest.param(lambda: a_prospective(epoch=5), 1000, id="prospective: election timeout"),
        pytest.param(lambda: a_candidate(epoch=5), 1000, id="candidate: election timeout"),
        pytest.param(lambda: a_resigned(epoch=5), 1000, id="resigned: election timeout"),
        pytest.param(lambda: a_leader(epoch=5), 1000, id="leader: next announcement"),
        pytest.param(lambda: a_leader(epoch=5, voters=(1,)), None, id="the only voter: nothing"),
        pytest.param(lambda: an_unattached(epoch=5, voters=(2, 3)), 2000, id="observer: the request in flight"),
    ],
)
def test_core_says_when_it_wants_to_be_called_again(node: Callable[[], Node], deadline_ms: int | None) -> None:
    assert node().core.deadline_ms == deadline_ms


@pytest.mark.rule("TIMER-10")
@pytest.mark.parametrize(
    "node",
    [
        pytest.param(lambda: an_unattached(epoch=5), id="unattached"),
        pytest.param(lambda: a_follower(of=2, epoch=5), id="follower"),
        pytest.param(lambda: a_prospective(epoch=5, leader=2), id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), id="candidate"),
        pytest.param(lambda: a_resigned(epoch=5), id="resigned"),
        pytest.param(lambda: a_leader(epoch=5), id="leader"),
    ],
)
def test_core_has_nothing_to_do_before_its_deadline_and_something_at_it(node: Callable[[], Node]) -> None:
    waiting = node()

    for _ in range(50):
        deadline_ms = waiting.core.deadline_ms
        assert deadline_ms is not None
        assert waiting.waits(until=deadline_ms - 1) == []
        assert waiting.core.deadline_ms == deadline_ms
        waiting.waits(until=deadline_ms)
        assert waiting.core.deadline_ms != deadline_ms


@pytest.mark.rule("TIMER-1", "TIMER-3")
@pytest.mark.timeout(20)
@pytest.mark.parametrize("led", [None, 1], ids=["unattached", "resigned"])
def test_election_timeout_of_0_does_not_loop_for_ever(led: int | None) -> None:
    node = a_node(epoch=5, leader=led, config=a_config(election_timeout_ms=0))

    assert node.core.deadline_ms == 0
