"""A node that others do not authorize: one of them never stops it, a majority does (ERROR-6, ERROR-10)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import Effect, Halt, HaltCause, ReportFault, SendRequest
from raft.core.events import ResignRequested
from raft.core.messages import RequestRefused
from raft.errors import ErrorCode
from raft.types import Epoch
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
from tests.core.orders import halts, sends
from tests.core.wording import endpoint, fetch_response, our_fetch

REFUSED = RequestRefused(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def report_of(node: int, request: str, *, needed: int, total: int) -> ReportFault:
    return ReportFault(
        message=f"node {node} does not authorize {request} of node 1: the rules of node {node} are wrong, or the name "
        f"that this node proves to it; this node goes on, because fewer than {needed} of {total} nodes refuse it"
    )


def halts_for(refusing: list[int], *, total: int) -> Halt:
    reason = f"nodes {refusing}, of {total} that this node knows, do not authorize its requests"
    return halts(HaltCause.NOT_AUTHORIZED, reason)


def receivers(effects: list[Effect]) -> list[int]:
    return [effect.node_id for effect in effects if isinstance(effect, SendRequest)]


@pytest.mark.parametrize(
    ("node", "request_name"),
    [
        pytest.param(lambda: an_unattached(epoch=5), "FetchRequest", id="unattached"),
        pytest.param(lambda: a_follower(of=2, epoch=5, has_fetched=True), "FetchRequest", id="follower"),
        pytest.param(lambda: a_prospective(epoch=5), "VoteRequest", id="prospective"),
        pytest.param(lambda: a_candidate(epoch=5), "VoteRequest", id="candidate"),
        pytest.param(lambda: a_leader(epoch=5), "BeginQuorumEpochRequest", id="leader"),
        pytest.param(lambda: a_resigned(epoch=5), "EndQuorumEpochRequest", id="resigned"),
        pytest.param(lambda: an_unattached(epoch=5, voters=(2, 3)), "FetchRequest", id="observer"),
    ],
)
@pytest.mark.rule("ERROR-6")
def test_node_reports_and_keeps_its_role_when_one_voter_does_not_authorize_it(
    node: Callable[[], Node], request_name: str
) -> None:
    asker = node()
    before = asker.role
    total = 3 if asker.core.is_voter else 2

    effects = asker.gets(REFUSED, of=2)

    assert effects[0] == report_of(2, request_name, needed=2, total=total)
    assert not any(isinstance(effect, Halt) for effect in effects)
    assert asker.role == before


@pytest.mark.rule("ERROR-10")
def test_resigned_leader_asks_a_voter_that_does_not_authorize_it_again_after_a_second() -> None:
    asker = a_node(epoch=5, leader=1, voted=1, config=a_config((1, 2), election_timeout_ms=5000))

    asker.gets(REFUSED, of=2, now_ms=100)

    assert asker.waits(until=1099) == []
    assert receivers(asker.waits(until=1100)) == [2]


@pytest.mark.parametrize(("voters", "needed"), [((1, 2, 3), 2), ((1, 2, 3, 4), 3), ((1, 2, 3, 4, 5), 3)])
@pytest.mark.rule("ERROR-6")
def test_voter_stops_when_a_majority_of_the_voters_does_not_authorize_it(voters: tuple[int, ...], needed: int) -> None:
    asker = a_prospective(epoch=5, voters=voters)

    before = [asker.gets(REFUSED, of=voter) for voter in range(2, needed + 1)]
    last = asker.gets(REFUSED, of=needed + 1)

    assert before == [
        [report_of(voter, "VoteRequest", needed=needed, total=len(voters))] for voter in range(2, needed + 1)
    ]
    assert last == [halts_for(list(range(2, needed + 2)), total=len(voters))]
    assert asker.waits(until=99_999) == []


@pytest.mark.rule("ERROR-6")
def test_voter_of_two_goes_on_however_often_the_other_one_does_not_authorize_it() -> None:
    asker = a_node(epoch=5, leader=1, voted=1, config=a_config((1, 2), election_timeout_ms=60_000))

    for second in range(20):
        effects = asker.gets(REFUSED, of=2, now_ms=1000 * second)
        assert effects == [report_of(2, "EndQuorumEpochRequest", needed=2, total=2)]
        assert receivers(asker.waits(until=1000 * (second + 1))) == [2]


@pytest.mark.parametrize(
    ("voters", "needed"),
    [((2, 3), 2), ((2, 3, 4), 2), ((2, 3, 4, 5), 3), ((2, 3, 4, 5, 6), 3)],
)
@pytest.mark.rule("ERROR-6")
def test_observer_stops_when_a_majority_of_the_voters_does_not_authorize_it(
    voters: tuple[int, ...], needed: int
) -> None:
    asker = an_unattached(epoch=5, voters=voters)

    for voter in voters[: needed - 1]:
        effects = asker.gets(REFUSED, of=voter)
        assert effects[0] == report_of(voter, "FetchRequest", needed=needed, total=len(voters))
        assert receivers(effects) == [voter + 1]

    assert asker.gets(REFUSED, of=voters[needed - 1]) == [halts_for(list(voters[:needed]), total=len(voters))]


@pytest.mark.rule("ERROR-6")
def test_observer_of_a_single_voter_goes_on_and_asks_each_second() -> None:
    asker = an_unattached(epoch=5, voters=(2,))

    for second in range(5):
        effects = asker.gets(REFUSED, of=2, now_ms=1000 * second)
        assert effects == [report_of(2, "FetchRequest", needed=2, total=1)]
        assert receivers(asker.waits(until=1000 * (second + 1))) == [2]


@pytest.mark.rule("ERROR-6")
def test_observer_counts_its_bootstrap_servers_and_not_a_leader_that_may_be_one_of_them() -> None:
    servers = (endpoint(2), endpoint(3), endpoint(4))
    asker = a_node(epoch=5, config=a_config((), bootstrap_servers=servers))
    asker.gets(fetch_response(epoch=6, leader=2), of=-2, now_ms=100)
    assert asker.role_name == "Follower"

    assert asker.gets(REFUSED, of=2)[0] == report_of(2, "FetchRequest", needed=2, total=3)
    assert asker.gets(REFUSED, of=-3)[0] == report_of(-3, "FetchRequest", needed=2, total=3)
    assert asker.gets(REFUSED, of=-4) == [halts_for([-4, -3], total=3)]


@pytest.mark.rule("ERROR-6")
def test_bootstrap_server_counts_as_the_voter_whose_address_it_has() -> None:
    asker = a_node(epoch=5, config=a_config((2, 3), bootstrap_servers=(endpoint(2), endpoint(3))))
    asker.gets(REFUSED, of=-2)
    asker.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), of=-3)
    assert asker.role_name == "Follower"

    by_the_same_voter = asker.gets(REFUSED, of=2)
    by_the_other_one = asker.gets(REFUSED, of=-3, now_ms=200)

    assert by_the_same_voter[0] == report_of(2, "FetchRequest", needed=2, total=2)
    assert by_the_other_one == [halts_for([2, 3], total=2)]


@pytest.mark.rule("ERROR-6")
def test_refusal_does_not_count_any_more_when_that_voter_has_accepted_a_request() -> None:
    asker = a_follower(of=2, epoch=5, voters=(1, 2, 3))
    asker.gets(REFUSED, of=2, now_ms=100)
    asker.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), of=3, now_ms=200)
    asker.waits(until=1100)
    asker.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=1150)
    asker.waits(until=3400)
    assert asker.role_name == "Prospective"

    effects = asker.gets(REFUSED, of=3, now_ms=3450)

    assert effects == [report_of(3, "VoteRequest", needed=2, total=3)]


@pytest.mark.parametrize(("age_ms", "stops"), [(9_999, True), (10_000, False)])
@pytest.mark.rule("ERROR-6")
def test_refusal_counts_for_ten_seconds(age_ms: int, stops: bool) -> None:
    asker = an_unattached(epoch=5, voters=(2, 3))
    asker.gets(REFUSED, of=2, now_ms=100)

    effects = asker.gets(REFUSED, of=3, now_ms=100 + age_ms)

    assert any(isinstance(effect, Halt) for effect in effects) is stops


@pytest.mark.rule("ERROR-6", "FETCH-17")
def test_leader_that_a_majority_does_not_authorize_leads_until_its_followers_stop_fetching() -> None:
    leader = a_leader(epoch=5)
    leader.gets(REFUSED, of=2)

    leads = leader.gets(REFUSED, of=3)
    resigns = leader.handle(ResignRequested(epoch=Epoch(5)), now_ms=200)

    assert leads == [report_of(3, "BeginQuorumEpochRequest", needed=2, total=3)]
    assert receivers(resigns) == [2, 3]
    assert leader.gets(REFUSED, of=2, now_ms=300) == [halts_for([2, 3], total=3)]


@pytest.mark.rule("ERROR-6", "FETCH-20")
def test_follower_asks_the_others_each_second_while_its_leader_does_not_authorize_it() -> None:
    asker = an_unattached(epoch=5, voters=(2, 3))
    asker.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), of=2, now_ms=0)
    assert asker.role_name == "Follower"

    to_another = asker.gets(REFUSED, of=2, now_ms=10)
    named_again = asker.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER), of=3, now_ms=20)

    assert to_another[1:] == [sends(our_fetch(epoch=5), to=3, number=1)]
    assert named_again == []
    assert asker.waits(until=1009) == []
    assert receivers(asker.waits(until=1010)) == [2]
