"""What errors stand for, and what must never be sent because a Java peer would end (rules ERROR-5, 7, 8; VOTE-23)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.events import Failure
from raft.errors import ErrorCode
from tests.core.builder import Node, a_candidate, a_leader, a_prospective, an_unattached
from tests.core.orders import replies
from tests.core.states import candidate, tally
from tests.core.wording import begin_request, fetch_request, fetch_response, vote_request, vote_response

NOT_AVAILABLE = ErrorCode.BROKER_NOT_AVAILABLE


@pytest.mark.rule("ERROR-5")
def test_lost_connection_counts_as_a_node_that_is_not_available() -> None:
    told, cut_off = a_candidate(epoch=5), a_candidate(epoch=5)

    effects_when_told = told.gets(vote_response(epoch=5, error=NOT_AVAILABLE), of=2)
    effects_when_cut_off = cut_off.fails_to_reach(2, Failure.DISCONNECTED)

    assert effects_when_told == effects_when_cut_off == []
    assert told.role == cut_off.role
    assert told.core.deadline_ms == cut_off.core.deadline_ms == 120, "both wait for the back-off"


@pytest.mark.rule("ERROR-5", "PREVOTE-18")
def test_unsupported_version_is_distinguished_from_a_lost_connection() -> None:
    cut_off, finding_out = a_prospective(epoch=5), a_prospective(epoch=5)

    cut_off.fails_to_reach(2, Failure.DISCONNECTED)
    finding_out.fails_to_reach(2, Failure.UNSUPPORTED_VERSION)

    assert cut_off.role_name == "Prospective"
    assert finding_out.role == candidate(epoch=6, until=1100)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "epoch", "error", "diverging"),
    [
        pytest.param(10, 3, 4, ErrorCode.FENCED_LEADER_EPOCH, None, id="older: was MISMATCH_EPOCH"),
        pytest.param(10, 3, 6, ErrorCode.UNKNOWN_LEADER_EPOCH, None, id="later: was MISMATCH_EPOCH"),
        pytest.param(50, 3, 5, ErrorCode.NONE, (3, 10), id="past the end: was OUT_OF_RANGE"),
        pytest.param(9, 2, 5, ErrorCode.NONE, (2, 0), id="an epoch of its own: was OUT_OF_RANGE"),
    ],
)
@pytest.mark.rule("ERROR-8")
def test_leader_responds_with_the_codes_that_replaced_those_of_the_first_drafts(
    offset: int, last_epoch: int, epoch: int, error: int, diverging: tuple[int, int] | None
) -> None:
    node = a_leader(epoch=5)

    effects = node.receives(fetch_request(by=2, epoch=epoch, offset=offset, last_epoch=last_epoch))

    assert effects == [replies(fetch_response(epoch=5, leader=1, error=error, diverging=diverging))]


@pytest.mark.rule("ERROR-7", "VOTE-9")
def test_voter_that_has_refused_a_candidate_refuses_it_for_the_rest_of_the_epoch() -> None:
    voter = an_unattached(epoch=5)
    shorter = vote_request(epoch=5, by=2, log_end=(3, 9))
    assert voter.receives(shorter, now_ms=0) == [replies(vote_response(epoch=5))]

    # It follows a leader, truncates its log below the candidate's, and loses that leader.
    voter.receives(begin_request(epoch=5, leader=3), now_ms=0)
    voter.gets(fetch_response(epoch=5, leader=3, diverging=(3, 4)), of=3, now_ms=0)
    assert voter.core.log.end_offset == 4
    for until, role in ((0, "Follower"), (2000, "Prospective"), (3000, "Follower")):
        voter.waits(until=until)
        assert voter.role_name == role
        assert voter.receives(shorter, now_ms=until)[0] == replies(vote_response(epoch=5, leader=3))


@pytest.mark.parametrize(
    "backwards",
    [
        pytest.param(
            lambda node: node.receives(fetch_request(by=2, epoch=5, offset=3, last_epoch=3)), id="a lost disk"
        ),
        pytest.param(
            lambda node: node.receives(fetch_request(by=3, epoch=5, offset=0, last_epoch=0)), id="an empty one"
        ),
    ],
)
@pytest.mark.rule("ERROR-7", "HW-3")
def test_leader_never_sends_a_smaller_high_watermark(backwards: Callable[[Node], object]) -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    backwards(node)

    (effect,) = node.receives(fetch_request(by=3, epoch=5, offset=11, last_epoch=5, max_wait_ms=0))
    assert effect == replies(fetch_response(epoch=5, leader=1, high_watermark=11))


@pytest.mark.rule("VOTE-23", "GEN-7")
def test_candidate_does_not_count_a_response_to_a_request_it_has_repeated() -> None:
    asker = a_candidate(epoch=5, voters=(1, 2, 3, 4, 5))
    granted_late = asker.response_event(vote_response(epoch=5, granted=True), of=2)
    asker.fails_to_reach(2, now_ms=100)
    asker.waits(until=120)
    asker.gets(vote_response(epoch=5), of=2, now_ms=130)
    refused = candidate(epoch=5, until=1000, votes=tally(1, refused=[2], of=(1, 2, 3, 4, 5)))
    assert asker.role == refused

    assert asker.handle(granted_late, now_ms=140) == []
    assert asker.role == refused
