"""A leader announces itself, counts those that fetch, and resigns without a majority (BEGIN, FETCH-17)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import ReportFault, SendResponse
from raft.core.roles import Leader
from raft.errors import ErrorCode
from tests.core.builder import Node, a_config, a_leader
from tests.core.orders import becomes, replies, sends
from tests.core.states import leader, resigned
from tests.core.wording import (
    begin_request,
    begin_response,
    client_fetch,
    endpoint,
    fetch_request,
    fetch_response,
    our_end_request,
)

FIVE = (1, 2, 3, 4, 5)


def announcement(*, to: int, number: int = 0) -> object:
    """The announcement of a leader of epoch 5 to a voter."""
    return sends(begin_request(epoch=5, leader=1, endpoints=(endpoint(1),), to=to), to=to, number=number)


def is_fetched_from(node: Node, *, by: int, now_ms: int) -> None:
    """A voter fetches from the end of the log."""
    fetch = fetch_request(by=by, epoch=5, offset=11, last_epoch=5, max_wait_ms=0)
    node.receives(fetch, now_ms=now_ms)


# Announcements


@pytest.mark.rule("BEGIN-2", "BEGIN-3", "TIMER-5", "FETCH-15")
def test_leader_repeats_its_announcement_to_those_that_have_not_fetched_within_the_interval() -> None:
    node = a_leader(epoch=5)
    for voter in (2, 3):
        node.gets(begin_response(epoch=5, leader=1), of=voter, now_ms=10)
    is_fetched_from(node, by=2, now_ms=1)

    assert node.waits(until=999) == []
    assert node.waits(until=1000) == [announcement(to=3)]
    assert node.waits(until=1999) == []
    node.gets(begin_response(epoch=5, leader=1), of=3, now_ms=1999)
    assert node.waits(until=2000) == [announcement(to=2, number=1), announcement(to=3, number=2)]


@pytest.mark.rule("TIMER-1", "TIMER-5")
@pytest.mark.parametrize("fetch_timeout_ms", [0, 1])
def test_announcements_are_never_less_than_a_millisecond_apart(fetch_timeout_ms: int) -> None:
    assert replace(a_config(), fetch_timeout_ms=fetch_timeout_ms).begin_interval_ms == 1


@pytest.mark.rule("BEGIN-11")
def test_leader_only_reports_a_voter_that_is_not_the_one_it_meant() -> None:
    node = a_leader(epoch=5)

    effects = node.gets(begin_response(epoch=5, leader=1, error=ErrorCode.INVALID_VOTER_KEY), of=2)

    message = "node 2 responds INVALID_VOTER_KEY to our BeginQuorumEpochRequest in epoch 5"
    assert effects == [ReportFault(message=message)]
    assert node.role == leader(epoch=5, start=10)


@pytest.mark.rule("BEGIN-1")
def test_leader_does_not_announce_itself_to_observers() -> None:
    node = a_leader(epoch=5)
    is_fetched_from(node, by=9, now_ms=1)
    for voter in (2, 3):
        node.gets(begin_response(epoch=5, leader=1), of=voter, now_ms=10)

    assert node.waits(until=1000) == [announcement(to=2), announcement(to=3, number=1)]


# Check quorum


@pytest.mark.rule("FETCH-17", "TIMER-4", "END-1", "END-3", "TIMER-3", "ROLE-11", "PREVOTE-21")
def test_leader_resigns_when_no_majority_has_fetched_in_time() -> None:
    node = a_leader(epoch=5)
    for voter in (2, 3):
        node.gets(begin_response(epoch=5, leader=1), of=voter, now_ms=10)
    for now_ms in (1000, 2000):
        node.waits(until=now_ms)
        for voter in (2, 3):
            node.gets(begin_response(epoch=5, leader=1), of=voter, now_ms=now_ms)
    before = node.role
    assert node.waits(until=2999) == []

    effects = node.waits(until=3000)

    after = resigned(epoch=5, until=4000, successors=(2, 3), unacknowledged=(2, 3))
    announcement = our_end_request(epoch=5, successors=(2, 3))
    assert effects == [
        becomes(after, was=before, reason="no majority has fetched within the check-quorum timeout"),
        sends(announcement, to=2, number=4),
        sends(announcement, to=3, number=5),
    ]
    assert node.role == after


@pytest.mark.parametrize(
    ("voters", "fetches", "resigns_at"),
    [
        pytest.param((1, 2), [(2, 500)], 3500, id="one other of two is enough"),
        pytest.param((1, 2, 3), [(2, 500)], 3500, id="one other of three is enough"),
        pytest.param((1, 2, 3, 4), [(2, 500)], 3000, id="one other of four is not"),
        pytest.param((1, 2, 3, 4), [(2, 500), (3, 700)], 3700, id="two others of four are, from the second on"),
        pytest.param(FIVE, [(2, 500), (2, 600)], 3000, id="the same twice is one"),
        pytest.param(FIVE, [(2, 500), (3, 700)], 3700, id="two others of five are"),
        pytest.param(FIVE, [(2, 500), (3, 700), (4, 900)], 3700, id="one more begins the next count"),
        pytest.param(FIVE, [(2, 500), (3, 700), (4, 900), (5, 1100)], 4100, id="and two more complete it"),
        pytest.param(FIVE, [(2, 500), (9, 700)], 3000, marks=pytest.mark.rule("FETCH-9"), id="observers do not count"),
        pytest.param((1, 2, 3), [(9, 700)], 3000, marks=pytest.mark.rule("FETCH-9"), id="nor do they of three"),
    ],
)
@pytest.mark.rule("FETCH-17", "TIMER-4")
def test_leader_counts_the_majority_that_fetches(
    voters: tuple[int, ...], fetches: list[tuple[int, int]], resigns_at: int
) -> None:
    node = a_leader(epoch=5, voters=voters)

    for voter, now_ms in fetches:
        is_fetched_from(node, by=voter, now_ms=now_ms)

    node.waits(until=resigns_at - 1)
    assert node.role_name == "Leader"
    node.waits(until=resigns_at)
    assert node.role_name == "Resigned"


@pytest.mark.rule("FETCH-17", "SCENARIO-26")
def test_leader_that_was_suspended_for_too_long_resigns_before_it_responds() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    is_fetched_from(node, by=2, now_ms=1)

    effects = node.receives(client_fetch(4), now_ms=3001)

    refusal = replies(fetch_response(epoch=5, leader=1, error=ErrorCode.NOT_LEADER_OR_FOLLOWER, high_watermark=11))
    assert [effect for effect in effects if isinstance(effect, SendResponse)] == [refusal]
    assert node.role_name == "Resigned"


@pytest.mark.rule("FETCH-17")
def test_only_voter_never_resigns_by_check_quorum() -> None:
    node = a_leader(epoch=5, voters=(1,))

    assert node.core.deadline_ms is None
    assert node.waits(until=1_000_000) == []
    assert node.role_name == "Leader"


@pytest.mark.rule("FETCH-16", "TIMER-6")
def test_only_voter_wakes_up_to_forget_a_silent_observer() -> None:
    node = a_leader(epoch=5, voters=(1,))
    is_fetched_from(node, by=9, now_ms=100)
    assert isinstance(node.role, Leader)
    assert node.core.deadline_ms == 300_100

    assert node.waits(until=300_100) == []

    assert node.role.progress.observers == {}
    assert node.core.deadline_ms is None
