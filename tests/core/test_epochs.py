"""Epochs that no election can have reached are not adopted (rule EPOCH-1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.core.effects import ReportFault
from raft.core.epochs import HIGHEST_ADOPTED_EPOCH, LARGEST_STEP, LAST_EPOCH
from raft.core.messages import Request, Response
from raft.errors import ErrorCode
from tests.core.builder import a_candidate, a_follower, a_log, an_unattached
from tests.core.orders import replies
from tests.core.wording import (
    begin_request,
    begin_response,
    end_request,
    end_response,
    vote_request,
    vote_response,
)

INVALID = ErrorCode.INVALID_REQUEST
FAR = 5 + LARGEST_STEP


@pytest.mark.parametrize("epoch", [FAR + 1, HIGHEST_ADOPTED_EPOCH, LAST_EPOCH])
@pytest.mark.parametrize(
    ("request_at", "refusal"),
    [
        pytest.param(
            lambda epoch: vote_request(epoch=epoch, by=3), vote_response(epoch=5, leader=2, error=INVALID), id="vote"
        ),
        pytest.param(
            lambda epoch: begin_request(epoch=epoch, leader=3),
            begin_response(epoch=5, leader=2, error=INVALID),
            id="begin",
        ),
        pytest.param(
            lambda epoch: begin_request(epoch=epoch, leader=1),
            begin_response(epoch=5, leader=2, error=INVALID),
            id="ours",
        ),
        pytest.param(
            lambda epoch: end_request(epoch=epoch, leader=3), end_response(epoch=5, leader=2, error=INVALID), id="end"
        ),
    ],
)
@pytest.mark.rule("EPOCH-1")
def test_request_of_an_impossible_epoch_is_refused_and_changes_nothing(
    epoch: int, request_at: Callable[[int], Request], refusal: Response
) -> None:
    node = a_follower(of=2, epoch=5)
    before = node.role

    effects = node.receives(request_at(epoch))

    assert effects == [replies(refusal)]
    assert node.role == before


@pytest.mark.rule("EPOCH-1")
def test_farthest_epoch_within_reach_is_adopted() -> None:
    node = a_follower(of=2, epoch=5)

    node.receives(begin_request(epoch=FAR, leader=3))

    assert node.core.epoch == FAR


@pytest.mark.rule("EPOCH-1")
def test_new_node_adopts_the_epoch_of_an_old_quorum() -> None:
    node = an_unattached(epoch=0, log=a_log((), 0))

    node.receives(begin_request(epoch=HIGHEST_ADOPTED_EPOCH, leader=3))

    assert node.core.epoch == HIGHEST_ADOPTED_EPOCH


@pytest.mark.rule("EPOCH-1")
def test_new_node_does_not_adopt_an_epoch_that_leaves_no_room_for_elections() -> None:
    node = an_unattached(epoch=0, log=a_log((), 0))

    node.receives(begin_request(epoch=HIGHEST_ADOPTED_EPOCH + 1, leader=3))

    assert node.core.epoch == 0


@pytest.mark.rule("EPOCH-1")
def test_response_of_an_impossible_epoch_is_reported_and_changes_nothing() -> None:
    asker = a_candidate(epoch=5)
    before = asker.role

    effects = asker.gets(vote_response(epoch=LAST_EPOCH), of=2)

    assert effects == [ReportFault(message=f"node 2 responds with epoch {LAST_EPOCH}, ours is 5: ignored")]
    assert asker.role == before
