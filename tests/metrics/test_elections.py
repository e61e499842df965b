"""Elections as a node's meter counts them, pre-votes and standard votes apart (METRIC-4, METRIC-5)."""

from __future__ import annotations

import logging
from math import isnan
from pathlib import Path

import pytest

from raft.core.events import Failure, Started
from raft.errors import ErrorCode
from raft.metrics.elections import Ballot, ElectionOutcome, Vote
from tests.core.builder import (
    ELECTION_TIMEOUT_MS,
    FETCH_TIMEOUT_MS,
    a_config,
    a_follower,
    a_leader,
    a_node,
    an_unattached,
    not_started,
)
from tests.core.wording import begin_request, pre_vote_request, vote_request, vote_response
from tests.metrics.metered import Metered
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties

PRE_GRANTED = Vote(Ballot.PRE_VOTE, ElectionOutcome.GRANTED)
PRE_REFUSED = Vote(Ballot.PRE_VOTE, ElectionOutcome.REFUSED)
GRANTED = Vote(Ballot.STANDARD, ElectionOutcome.GRANTED)
REFUSED = Vote(Ballot.STANDARD, ElectionOutcome.REFUSED)

BEGUN_MS = FETCH_TIMEOUT_MS


def timed_out() -> Metered:
    """A follower of epoch 5 whose fetch timeout has expired: it has asked both others for pre-votes."""
    metered = Metered(a_follower(of=2, epoch=5))
    metered.node.waits(until=BEGUN_MS)
    assert metered.node.role_name == "Prospective"
    return metered


@pytest.mark.rule("METRIC-5")
def test_meter_tells_pre_votes_from_votes_of_an_election_that_is_won() -> None:
    metered = timed_out()
    elections = metered.meter.elections
    assert (elections.rounds, elections.asked) == ({Ballot.PRE_VOTE: 1}, {Ballot.PRE_VOTE: 2})

    metered.node.gets(vote_response(epoch=5, granted=True), of=3, now_ms=BEGUN_MS + 5)
    assert elections.asked == {Ballot.PRE_VOTE: 2, Ballot.STANDARD: 2}
    metered.node.gets(vote_response(epoch=6), of=2, now_ms=BEGUN_MS + 7)
    metered.node.gets(vote_response(epoch=6, granted=True), of=3, now_ms=BEGUN_MS + 9)

    assert metered.node.role_name == "Leader"
    assert elections.received == {PRE_GRANTED: 1, REFUSED: 1, GRANTED: 1}
    assert elections.rounds == elections.won == {Ballot.PRE_VOTE: 1, Ballot.STANDARD: 1}


@pytest.mark.rule("METRIC-5")
def test_meter_counts_pre_votes_that_are_refused() -> None:
    metered = timed_out()

    for voter in (2, 3):
        metered.node.gets(vote_response(epoch=5), of=voter, now_ms=BEGUN_MS + 5)

    elections = metered.meter.elections
    assert elections.received == {PRE_REFUSED: 2}
    assert not elections.won


@pytest.mark.rule("METRIC-5")
def test_meter_does_not_count_errors_and_late_responses_as_votes() -> None:
    metered = timed_out()
    late = metered.node.response_event(vote_response(epoch=5, granted=True), of=2)

    metered.node.gets(vote_response(epoch=5, error=ErrorCode.INVALID_REQUEST), of=3, now_ms=BEGUN_MS + 5)
    metered.node.receives(begin_request(epoch=6, leader=3), now_ms=BEGUN_MS + 6)
    metered.node.handle(late, now_ms=BEGUN_MS + 7)

    assert not metered.meter.elections.received


@pytest.mark.rule("METRIC-5")
def test_election_without_pre_votes_counts_as_standard_alone() -> None:
    metered = timed_out()

    metered.node.fails_to_reach(2, Failure.UNSUPPORTED_VERSION, now_ms=BEGUN_MS + 5)

    elections = metered.meter.elections
    assert metered.node.role_name == "Candidate"
    assert elections.rounds == {Ballot.PRE_VOTE: 1, Ballot.STANDARD: 1}
    assert not elections.won


@pytest.mark.rule("METRIC-5")
def test_meter_counts_the_votes_that_the_node_casts() -> None:
    metered = Metered(an_unattached(epoch=5))

    metered.node.receives(pre_vote_request(by=2, epoch=5), now_ms=10)
    metered.node.receives(vote_request(by=2, epoch=6), now_ms=11)
    metered.node.receives(vote_request(by=3, epoch=6), now_ms=12)

    assert metered.meter.elections.cast == {PRE_GRANTED: 1, GRANTED: 1, REFUSED: 1}


@pytest.mark.rule("METRIC-5")
def test_leader_that_refuses_a_pre_vote_is_counted() -> None:
    metered = Metered(a_leader(epoch=5))

    metered.node.receives(pre_vote_request(by=2, epoch=5), now_ms=10)

    assert metered.meter.elections.cast == {PRE_REFUSED: 1}


@pytest.mark.rule("METRIC-5")
def test_log_tells_pre_votes_from_votes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), NodesInProcess(voters_properties(tmp_path)) as nodes:
        nodes.start().wait_for_leader()

    lines = [record.getMessage() for record in caplog.records]
    assert any("Prospective -> Candidate: won pre-votes of [" in line for line in lines)
    assert any("Candidate -> Leader: won with votes of [" in line for line in lines)


@pytest.mark.rule("METRIC-4")
def test_election_clock_begins_again_with_the_candidate_and_stops_with_the_leader() -> None:
    metered = timed_out()
    latency_ms = metered.meter.elections.latency_ms

    metered.node.gets(vote_response(epoch=5, granted=True), of=3, now_ms=BEGUN_MS + 100)
    assert isnan(latency_ms.average(BEGUN_MS + 100))
    metered.node.gets(vote_response(epoch=6, granted=True), of=3, now_ms=BEGUN_MS + 130)

    assert latency_ms.average(BEGUN_MS + 130) == latency_ms.maximum(BEGUN_MS + 130) == 30


@pytest.mark.rule("METRIC-4")
def test_election_clock_stops_when_another_node_leads() -> None:
    metered = timed_out()

    metered.node.receives(begin_request(epoch=6, leader=3), now_ms=BEGUN_MS + 40)

    assert metered.meter.elections.latency_ms.average(BEGUN_MS + 40) == 40


@pytest.mark.rule("METRIC-4")
def test_election_clock_does_not_begin_again_with_a_vote_for_another_node() -> None:
    metered = Metered(a_node(epoch=5, config=a_config()))
    metered.node.waits(until=ELECTION_TIMEOUT_MS)
    assert metered.node.role_name == "Prospective"

    metered.node.receives(vote_request(by=2, epoch=5), now_ms=ELECTION_TIMEOUT_MS + 10)
    metered.node.receives(begin_request(epoch=5, leader=2), now_ms=ELECTION_TIMEOUT_MS + 30)

    assert metered.meter.elections.rounds == {Ballot.PRE_VOTE: 1}
    assert metered.meter.elections.latency_ms.average(ELECTION_TIMEOUT_MS + 30) == 30


@pytest.mark.rule("METRIC-4")
def test_only_voter_wins_at_once_and_measures_nothing() -> None:
    metered = Metered(not_started(None, config=a_config((1,))))

    metered.node.handle(Started(), now_ms=0)
    metered.node.waits(until=10)

    elections = metered.meter.elections
    assert metered.node.role_name == "Leader"
    assert elections.won == {Ballot.PRE_VOTE: 1, Ballot.STANDARD: 1}
    assert isnan(elections.latency_ms.average(10))
