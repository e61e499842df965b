"""From every role to every other: legal moves are made, illegal ones raise (TEST-15, ROLE-1..7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.moves import become_candidate, become_leader, become_prospective, become_resigned, leave_prospective
from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from raft.core.transitions import ALLOWED
from raft.types import Epoch
from tests.core.builder import a_state
from tests.core.orders import becomes, stores
from tests.core.states import candidate, follower, leader, prospective, resigned, tally, unattached

ROLES: dict[type[Role], Role] = {
    Unattached: unattached(epoch=5, until=1000, leader=2, voted=1),
    Prospective: prospective(epoch=5, until=1000, leader=2, voted=1),
    Candidate: candidate(epoch=5, until=1000),
    Leader: leader(epoch=5, start=10),
    Resigned: resigned(epoch=5, until=1000),
    Follower: follower(of=2, epoch=5, until=2000, voted=1),
}

SAME, NEXT, HIGHER, SAME_OR_HIGHER = {0}, {1}, {1, 2}, {0, 1, 2}

LEGAL = {
    "Unattached to Unattached": SAME_OR_HIGHER,
    "Unattached to Prospective": SAME,
    "Unattached to Follower": SAME_OR_HIGHER,
    "Prospective to Prospective": SAME,
    "Prospective to Candidate": NEXT,
    "Prospective to Follower": SAME_OR_HIGHER,
    "Prospective to Unattached": SAME_OR_HIGHER,
    "Candidate to Leader": SAME,
    "Candidate to Prospective": SAME,
    "Candidate to Unattached": HIGHER,
    "Candidate to Follower": SAME_OR_HIGHER,
    "Leader to Resigned": SAME,
    "Leader to Unattached": HIGHER,
    "Leader to Follower": HIGHER,
    "Resigned to Unattached": HIGHER,
    "Resigned to Follower": HIGHER,
    "Follower to Prospective": SAME,
    "Follower to Unattached": HIGHER,
    "Follower to Follower": SAME_OR_HIGHER,
}
"""The table of section 2, written down a second time: what a move may add to the epoch."""


@pytest.mark.parametrize("step", [-1, 0, 1, 2], ids=["epoch down", "same epoch", "next epoch", "a later epoch"])
@pytest.mark.parametrize("new", ROLES, ids=lambda role: f"to {role.__name__}")
@pytest.mark.parametrize("old", ROLES, ids=lambda role: f"from {role.__name__}")
@pytest.mark.rule("TEST-15", "ROLE-1", "ROLE-2", "ROLE-3", "ROLE-4", "STATE-15")
def test_node_makes_legal_moves_and_no_others(old: type[Role], new: type[Role], step: int) -> None:
    state = a_state(ROLES[old])
    role = replace(ROLES[new], epoch=Epoch(5 + step))
    pair = f"{old.__name__} to {new.__name__}"

    if step in LEGAL.get(pair, set()):
        state.move_to(role, "a test")
        assert state.role is role
        assert becomes(role, was=ROLES[old], reason="a test") in state.effects
    else:
        with pytest.raises(AssertionError, match=f"{pair} is .*, not 5 to {5 + step}|no move from {pair}"):
            state.move_to(role, "a test")
        assert state.role is ROLES[old]
        assert state.effects == []


@pytest.mark.rule("TEST-15", "ROLE-1")
def test_table_of_legal_moves_is_that_of_the_rules() -> None:
    moves = {f"{old.__name__} to {new.__name__}" for old, news in ALLOWED.items() for new in news}

    assert moves == set(LEGAL)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(
            unattached(epoch=5, until=1, voted=3),
            unattached(epoch=5, until=1),
            "voted for .*node_id=3.* in epoch 5, now None",
            marks=pytest.mark.rule("ROLE-5"),
            id="it forgets its vote",
        ),
        pytest.param(
            unattached(epoch=5, until=1, voted=3),
            prospective(epoch=5, until=1, voted=2),
            "voted for .*node_id=3.* in epoch 5, now .*node_id=2",
            marks=pytest.mark.rule("ROLE-5"),
            id="it votes twice",
        ),
        pytest.param(
            follower(of=2, epoch=5, until=1),
            prospective(epoch=5, until=1),
            "leader 2 of epoch 5, now None",
            marks=pytest.mark.rule("ROLE-6"),
            id="it forgets its leader",
        ),
        pytest.param(
            follower(of=2, epoch=5, until=1),
            follower(of=3, epoch=5, until=1),
            "leader 2 of epoch 5, now 3",
            marks=pytest.mark.rule("ROLE-6"),
            id="it follows two leaders",
        ),
    ],
)
def test_move_within_an_epoch_neither_forgets_nor_replaces(old: Role, new: Role, problem: str) -> None:
    state = a_state(old)

    with pytest.raises(AssertionError, match=problem):
        state.move_to(new, "a test")

    assert state.role is old


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(
            follower(of=2, epoch=5, until=1),
            prospective(epoch=5, until=1, leader=2),
            "an update of Follower makes it Prospective",
            id="another role",
        ),
        pytest.param(
            candidate(epoch=5, until=1),
            candidate(epoch=6, until=1),
            "an update of Candidate changes epoch 5 to 6",
            id="another epoch",
        ),
        pytest.param(
            unattached(epoch=5, until=1),
            unattached(epoch=5, until=1, voted=2),
            "an update in epoch 5 changes the vote of None",
            id="a vote",
        ),
        pytest.param(
            follower(of=2, epoch=5, until=1),
            follower(of=3, epoch=5, until=1),
            "an update in epoch 5 changes the leader",
            id="another leader",
        ),
    ],
)
@pytest.mark.rule("ROLE-1", "ROLE-4", "ROLE-5", "ROLE-6")
def test_update_of_a_role_is_not_a_move(old: Role, new: Role, problem: str) -> None:
    state = a_state(old)

    with pytest.raises(AssertionError, match=problem):
        state.update_role(new)

    assert state.role is old


def test_update_of_a_role_is_neither_stored_nor_announced() -> None:
    state = a_state(follower(of=2, epoch=5, until=1, voted=3))
    later = follower(of=2, epoch=5, until=2, voted=3, has_fetched=True)

    state.update_role(later)

    assert state.role is later
    assert state.effects == []


@pytest.mark.rule("ROLE-11", "STATE-5")
def test_move_is_on_disk_before_it_is_announced() -> None:
    state = a_state(ROLES[Follower])
    role = unattached(epoch=6, until=1000)

    state.move_to(role, "a test")

    assert state.effects == [stores(epoch=6), becomes(role, was=ROLES[Follower], reason="a test")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(unattached(epoch=5, until=1000, voted=3), prospective(epoch=5, until=2000, voted=3), id="to ask"),
        pytest.param(candidate(epoch=5, until=1000), prospective(epoch=5, until=2000, voted=1), id="to ask again"),
        pytest.param(leader(epoch=5, start=10), resigned(epoch=5, until=1000), id="to resign"),
        pytest.param(
            follower(of=2, epoch=5, until=1000, voted=3),
            prospective(epoch=5, until=2000, leader=2, voted=3),
            id="to doubt the leader",
        ),
    ],
)
@pytest.mark.rule("ROLE-11", "ROLE-5", "ROLE-6")
def test_move_that_changes_nothing_on_disk_writes_nothing(old: Role, new: Role) -> None:
    state = a_state(old)

    state.move_to(new, "a test")

    assert state.effects == [becomes(new, was=old, reason="a test")]


# Steps that only one role may take


@pytest.mark.rule("ROLE-3", "ROLE-1")
def test_only_a_candidate_with_a_majority_becomes_leader() -> None:
    for role, problem in [
        (prospective(epoch=5, until=1000, votes=tally(1, 2, 3)), "only a candidate becomes leader"),
        (candidate(epoch=5, until=1000), "only with a majority"),
    ]:
        with pytest.raises(AssertionError, match=problem):
            become_leader(a_state(role), now_ms=0)


@pytest.mark.rule("ROLE-2", "ROLE-1")
@pytest.mark.parametrize("old", [Unattached, Candidate, Leader, Resigned, Follower], ids=lambda role: role.__name__)
def test_only_a_prospective_node_becomes_candidate(old: type[Role]) -> None:
    with pytest.raises(AssertionError, match=f"no move from {old.__name__} to Candidate"):
        become_candidate(a_state(ROLES[old]), now_ms=0, reason="a test")


@pytest.mark.rule("ROLE-9", "ROLE-1")
@pytest.mark.parametrize("old", [Leader, Resigned], ids=lambda role: role.__name__)
def test_leader_leaves_its_epoch_before_it_requests_pre_votes(old: type[Role]) -> None:
    with pytest.raises(AssertionError, match="a leader resigns and leaves its epoch first"):
        become_prospective(a_state(ROLES[old]), now_ms=0, reason="a test")


@pytest.mark.rule("ROLE-1")
def test_only_a_leader_resigns_and_only_a_prospective_node_loses_its_round() -> None:
    with pytest.raises(AssertionError, match="only a leader resigns"):
        become_resigned(a_state(ROLES[Follower]), now_ms=0, reason="a test")
    with pytest.raises(AssertionError, match="only a prospective node can lose its pre-votes"):
        leave_prospective(a_state(ROLES[Candidate]), now_ms=0, reason="a test")
