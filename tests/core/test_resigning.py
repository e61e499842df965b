"""A leader resigns, and tells the other voters (rules END-1..4, 12; ROLE-9, 14)."""

from __future__ import annotations

import pytest

from raft.core.events import ResignRequested
from raft.errors import ErrorCode, LocalProtocolError
from raft.types import Epoch
from tests.core.builder import a_candidate, a_follower, a_leader, a_resigned
from tests.core.orders import becomes, replies, sends
from tests.core.states import resigned
from tests.core.wording import append_of, append_response, end_response, fetch_request, our_end_request


@pytest.mark.rule("END-1", "END-2", "ROLE-11", "TIMER-3")
def test_leader_sends_end_quorum_epoch_to_all_other_voters_when_it_is_to_resign() -> None:
    node = a_leader(epoch=5)
    before = node.role

    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=300)

    after = resigned(epoch=5, until=1300, successors=(2, 3), unacknowledged=(2, 3))
    announcement = our_end_request(epoch=5, successors=(2, 3))
    assert effects == [
        becomes(after, was=before, reason="request to resign"),
        sends(announcement, to=2),
        sends(announcement, to=3, number=1),
    ]
    assert node.role == after


@pytest.mark.rule("END-3", "SCENARIO-24")
@pytest.mark.parametrize(
    ("offsets", "successors"),
    [
        pytest.param({2: 9, 3: 11, 4: 8}, (3, 2, 4), id="by offset, highest first"),
        pytest.param({2: 8, 3: 8, 4: 9}, (4, 2, 3), id="ties by id"),
        pytest.param({4: 8}, (4, 2, 3), id="unknown offsets last, ties by id"),
        pytest.param({3: 0}, (3, 2, 4), id="an empty log is known to be empty"),
    ],
)
def test_leader_prefers_successors_by_their_fetch_offsets(offsets: dict[int, int], successors: tuple[int, ...]) -> None:
    node = a_leader(epoch=5, voters=(1, 2, 3, 4))
    for voter, offset in offsets.items():
        last_epoch = 5 if offset == 11 else 3
        node.receives(fetch_request(by=voter, epoch=5, offset=offset, last_epoch=last_epoch, max_wait_ms=0))

    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=300)

    announcement = our_end_request(epoch=5, successors=successors)
    assert effects[1:] == [sends(announcement, to=voter, number=number) for number, voter in enumerate([2, 3, 4])]


@pytest.mark.rule("END-2")
@pytest.mark.parametrize("epoch", [-1, 6], ids=["negative", "larger than ours"])
def test_leader_refuses_to_resign_from_an_epoch_that_never_was(epoch: int) -> None:
    node = a_leader(epoch=5)
    before = node.role

    with pytest.raises(LocalProtocolError, match=f"cannot resign from epoch {epoch}"):
        node.handle(ResignRequested(epoch=Epoch(epoch)), now_ms=300)

    assert node.role == before


@pytest.mark.rule("END-2")
@pytest.mark.parametrize("builder", [a_candidate, a_resigned], ids=["candidate", "resigned already"])
def test_node_refuses_to_resign_from_an_epoch_it_does_not_lead(builder: object) -> None:
    node = a_candidate(epoch=5) if builder is a_candidate else a_resigned(epoch=5)

    with pytest.raises(LocalProtocolError, match="this node does not lead it"):
        node.handle(ResignRequested(epoch=Epoch(5)), now_ms=300)


@pytest.mark.rule("END-2")
@pytest.mark.parametrize("who", ["leader", "follower"])
def test_node_ignores_a_resignation_from_an_epoch_that_is_over(who: str) -> None:
    node = a_leader(epoch=5) if who == "leader" else a_follower(of=2, epoch=5)
    before = node.role

    assert node.handle(ResignRequested(epoch=Epoch(4)), now_ms=300) == []
    assert node.role == before


@pytest.mark.rule("END-4", "END-12")
def test_resigned_leader_repeats_end_quorum_epoch_until_each_has_acknowledged() -> None:
    node = a_resigned(epoch=5)
    announcement = our_end_request(epoch=5, successors=(2, 3))

    assert node.gets(end_response(epoch=5, leader=1), of=2, now_ms=100) == []
    assert node.role == resigned(epoch=5, until=1000, successors=(2, 3), unacknowledged=(3,))
    assert node.fails_to_reach(3, now_ms=100) == []
    assert node.waits(until=120) == [sends(announcement, to=3)]
    error = ErrorCode.BROKER_NOT_AVAILABLE
    assert node.gets(end_response(epoch=5, leader=1, error=error), of=3, now_ms=200) == []
    assert node.waits(until=220) == [sends(announcement, to=3, number=1)]
    assert node.gets(end_response(epoch=5, leader=1), of=3, now_ms=300) == []
    assert node.role == resigned(epoch=5, until=1000, successors=(2, 3))


@pytest.mark.rule("ROLE-15", "ROLE-14", "CLIENT-6")
def test_leader_that_resigns_responds_that_the_outcome_of_appends_is_unknown() -> None:
    node = a_leader(epoch=5)
    node.handle(append_of(), now_ms=100)

    effects = node.handle(ResignRequested(epoch=Epoch(5)), now_ms=300)

    unknown = replies(append_response(epoch=5, error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert effects[1] == unknown
    assert node.handle(append_of(), now_ms=310) == [unknown]
