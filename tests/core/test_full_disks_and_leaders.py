"""A voter whose disk is full leaves leadership to voters with room, as long as one can lead (rule LOG-28)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from raft.core.effects import Effect, RoleChanged, SendRequest
from raft.core.events import DiskMeasured, DiskWaiting
from raft.core.messages import VoteRequest
from raft.core.unfit_voters import HANDOVER_AFTER_MS
from raft.errors import ErrorCode
from raft.types import Offset
from tests.core.builder import ELECTION_TIMEOUT_MS, Node, a_follower, a_leader, an_unattached
from tests.core.orders import reads, replies, sends
from tests.core.states import follower
from tests.core.wording import (
    append_of,
    batch,
    fetch_request,
    fetch_response,
    our_end_request,
    our_fetch,
    pre_vote_request,
)

FULL = DiskMeasured(room_bytes=0, appended_bytes=0)
NO_ROOM, ROOM = 1, 1 << 20
END = 11
"""The log end of the leader: it has appended the begin of its epoch."""


def leads(fetches: Iterable[tuple[int, int, int]], *, since_full_ms: int = HANDOVER_AFTER_MS) -> list[Effect]:
    """Return what a leader does whose disk is full since 100 ms, after fetches of (voter, offset, max_bytes)."""
    node = a_leader(epoch=5)
    node.handle(FULL, now_ms=100)
    for voter, offset, max_bytes in fetches:
        request = fetch_request(by=voter, epoch=5, offset=offset, last_epoch=5, max_bytes=max_bytes)
        node.receives(request, now_ms=100 + since_full_ms - 1)
    return node.count_from_here().handle(FULL, now_ms=100 + since_full_ms)


def votes_asked(effects: Iterable[Effect]) -> list[int]:
    return [each.node_id for each in effects if isinstance(each, SendRequest) and isinstance(each.request, VoteRequest)]


@pytest.mark.parametrize(
    ("fetches", "successors"),
    [
        pytest.param([(2, END, ROOM), (3, END, ROOM)], (2, 3), id="both have room"),
        pytest.param([(2, END, NO_ROOM), (3, END, ROOM)], (3, 2), id="the one with room comes first"),
        pytest.param([(2, END, ROOM)], (2, 3), id="only one has fetched"),
    ],
)
@pytest.mark.rule("LOG-28", "END-3")
def test_leader_without_room_resigns_when_a_voter_with_room_can_win(
    fetches: list[tuple[int, int, int]], successors: tuple[int, ...]
) -> None:
    effects = leads(fetches)

    end = our_end_request(epoch=5, successors=successors)
    assert [each for each in effects if isinstance(each, SendRequest)] == [sends(end, to=2), sends(end, to=3, number=1)]


@pytest.mark.parametrize(
    "fetches",
    [
        pytest.param([], id="no voter fetches"),
        pytest.param([(2, END, NO_ROOM), (3, END, NO_ROOM)], id="all disks are full"),
        pytest.param([(2, END, NO_ROOM), (3, 10, ROOM)], id="the voter with room lacks records of a majority"),
    ],
)
@pytest.mark.rule("LOG-28")
def test_leader_without_room_leads_on_when_no_voter_with_room_can_win(fetches: list[tuple[int, int, int]]) -> None:
    assert not any(isinstance(effect, RoleChanged) for effect in leads(fetches))


@pytest.mark.rule("LOG-28")
def test_leader_leads_on_when_its_disk_was_full_for_a_short_time() -> None:
    assert leads([(2, END, ROOM), (3, END, ROOM)], since_full_ms=HANDOVER_AFTER_MS - 1) == []


@pytest.mark.rule("LOG-28")
def test_leader_whose_disk_has_room_again_leads_on() -> None:
    node = a_leader(epoch=5)
    node.handle(FULL, now_ms=100)
    node.handle(DiskMeasured(room_bytes=1000, appended_bytes=0), now_ms=200)
    node.receives(fetch_request(by=2, epoch=5, offset=END, last_epoch=5), now_ms=2650)

    assert node.handle(FULL, now_ms=2700) == []


@pytest.mark.rule("LOG-27", "LOG-28")
def test_leader_refuses_records_while_a_job_of_its_disk_waits_for_room() -> None:
    node = a_leader(epoch=5, voters=(1,))
    node.handle(DiskWaiting(written_end=Offset(11)), now_ms=100)

    (refusal,) = node.handle(append_of(), now_ms=100)
    node.handle(DiskWaiting(written_end=None), now_ms=200)

    assert refusal.response.error == ErrorCode.STORAGE_ERROR  # type: ignore[union-attr]
    assert len(node.handle(append_of(), now_ms=200)) == 2


def rounds(node: Node, *, until_ms: int) -> list[int]:
    """Let time pass, and return the times at which the node asks for pre-votes."""
    asked: list[int] = []
    while (deadline_ms := node.core.deadline_ms) is not None and deadline_ms <= until_ms:
        if votes_asked(node.waits(until=deadline_ms)):
            asked.append(deadline_ms)
    return asked


@pytest.mark.rule("LOG-28")
def test_voter_without_room_leaves_two_rounds_to_others() -> None:
    node = an_unattached(epoch=5)
    node.handle(FULL, now_ms=0)

    first = rounds(node, until_ms=5000)[0]

    # A round, and the time of an Unattached until the next one, take an election timeout each.
    assert first == 5 * ELECTION_TIMEOUT_MS


@pytest.mark.rule("LOG-28")
def test_follower_without_room_grants_pre_votes_when_its_leader_is_gone() -> None:
    node = a_follower(of=2, epoch=5)
    node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=100)
    node.handle(FULL, now_ms=100)
    effects = node.waits(until=2100)

    (response,) = node.receives(pre_vote_request(by=3, epoch=5, log_end=(5, 12)), now_ms=2200)

    assert (node.role_name, votes_asked(effects)) == ("Prospective", [])
    assert response == replies(response.response)  # type: ignore[union-attr]
    assert response.response.vote_granted  # type: ignore[union-attr]


@pytest.mark.rule("LOG-28")
def test_voter_asks_for_votes_in_the_same_round_when_there_is_room_again() -> None:
    node = an_unattached(epoch=5)
    node.handle(FULL, now_ms=0)
    node.waits(until=ELECTION_TIMEOUT_MS)

    effects = node.handle(DiskMeasured(room_bytes=1000, appended_bytes=0), now_ms=ELECTION_TIMEOUT_MS + 1)

    assert votes_asked(effects) == [2, 3]


@pytest.mark.rule("LOG-28")
def test_only_voter_leads_although_its_disk_is_full() -> None:
    node = an_unattached(epoch=5, voters=(1,))
    node.handle(FULL, now_ms=0)

    node.waits(until=2 * ELECTION_TIMEOUT_MS)

    assert node.role_name == "Leader"


def waits_with_an_append() -> Node:
    """A follower that has appended offset 10, which is not on its disk yet."""
    node = a_follower(of=2, epoch=5, high_watermark=10)
    node.gets(fetch_response(epoch=5, leader=2, high_watermark=10, batches=[batch(10, epoch=5)]), of=2, now_ms=100)
    return node.count_from_here()


CONTACT = our_fetch(epoch=5, high_watermark=10, max_bytes=1)
"""The fetch at the end of what is on disk, which is offset 10."""


@pytest.mark.rule("LOG-28", "FETCH-25")
def test_follower_whose_append_waits_for_room_stays_in_contact() -> None:
    node = waits_with_an_append()

    effects = node.handle(DiskWaiting(written_end=Offset(10)), now_ms=200)

    assert effects == [sends(CONTACT, to=2)]
    assert node.gets(fetch_response(epoch=5, leader=2), of=2, now_ms=300) == []
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)
    assert node.waits(until=800) == [sends(CONTACT, to=2, number=1)]


@pytest.mark.rule("LOG-28", "HW-5")
def test_response_to_a_contact_changes_neither_log_nor_high_watermark() -> None:
    node = waits_with_an_append()
    node.handle(DiskWaiting(written_end=Offset(10)), now_ms=200)
    response = fetch_response(epoch=5, leader=2, high_watermark=12, batches=[batch(10, epoch=5), batch(11, epoch=5)])
    node.handle(DiskWaiting(written_end=None), now_ms=250)
    node.has_flushed(now_ms=250)

    effects = node.gets(response, of=2, now_ms=300)

    assert (effects, node.high_watermark, node.core.log.end_offset) == ([], 10, 11)


@pytest.mark.rule("LOG-28", "FETCH-13")
def test_snapshot_that_is_offered_in_response_to_a_contact_is_not_loaded() -> None:
    node = waits_with_an_append()
    node.handle(DiskWaiting(written_end=Offset(0)), now_ms=200)

    effects = node.gets(fetch_response(epoch=5, leader=2, snapshot=(3, 8)), of=2, now_ms=300)

    assert effects == []
    assert node.role == follower(of=2, epoch=5, until=2300, has_fetched=True)


@pytest.mark.rule("LOG-27", "LOG-28")
def test_fetch_of_what_waits_for_room_is_parked_until_it_is_written() -> None:
    node = a_leader(epoch=5)
    node.handle(DiskWaiting(written_end=Offset(10)), now_ms=100)
    request = fetch_request(by=2, epoch=5, offset=10, last_epoch=3)

    parked = node.receives(request, now_ms=100)
    (response,) = node.handle(DiskWaiting(written_end=None), now_ms=200)

    assert parked == []
    assert response == replies(response.response, read=reads(10, 11))  # type: ignore[union-attr]
