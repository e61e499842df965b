"""The table of legal moves between roles, with what triggers each, and the checks that hold every change to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from raft.core.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached, known_leader


class EpochStep(Enum):
    """What a move does to the epoch."""

    NONE = "the same epoch"
    ANY = "the same epoch, or a higher one"
    ONE = "the next epoch"
    UP = "a higher epoch"


@dataclass(frozen=True, slots=True)
class Move:
    """One legal move.

    Args:
        epoch: what it does to the epoch.
        triggers: what leads to it, each enough by itself.
    """

    epoch: EpochStep
    triggers: tuple[str, ...]


_HIGHER_EPOCH = "higher epoch in a message"
_LEADER = "a message names the leader and its address"
_LEADER_WITHOUT_ADDRESS = "a message names the leader, whose address is unknown"
_NEXT_LEADER = "a message names the leader of a higher epoch"
_VOTE_GRANTED = "grants its vote"
_ELECTION_TIMEOUT = "election timeout"

ALLOWED: Mapping[type[Role], Mapping[type[Role], Move]] = {
    Unattached: {
        Unattached: Move(EpochStep.ANY, (_HIGHER_EPOCH, _LEADER_WITHOUT_ADDRESS, _VOTE_GRANTED)),
        Prospective: Move(EpochStep.NONE, (_ELECTION_TIMEOUT,)),
        Follower: Move(EpochStep.ANY, (_LEADER,)),
    },
    Prospective: {
        Unattached: Move(
            EpochStep.ANY,
            (
                _HIGHER_EPOCH,
                _LEADER_WITHOUT_ADDRESS,
                "pre-votes lost, no leader known",
                "election timeout, no leader known",
            ),
        ),
        Prospective: Move(EpochStep.NONE, (_VOTE_GRANTED,)),
        Candidate: Move(EpochStep.ONE, ("majority of pre-votes", "a voter does not support pre-votes")),
        Follower: Move(EpochStep.ANY, (_LEADER, "pre-votes lost, leader known", "election timeout, leader known")),
    },
    Candidate: {
        Unattached: Move(EpochStep.UP, (_HIGHER_EPOCH,)),
        Prospective: Move(EpochStep.NONE, (_ELECTION_TIMEOUT,)),
        Leader: Move(EpochStep.NONE, ("majority of votes",)),
        Follower: Move(EpochStep.ANY, (_LEADER,)),
    },
    Leader: {
        Unattached: Move(EpochStep.UP, (_HIGHER_EPOCH,)),
        Resigned: Move(
            EpochStep.NONE, ("check-quorum timeout", "shutdown", "request to resign", "full disk, and a voter has room")
        ),
        Follower: Move(EpochStep.UP, (_NEXT_LEADER,)),
    },
    Resigned: {
        Unattached: Move(EpochStep.UP, (_HIGHER_EPOCH, _ELECTION_TIMEOUT)),
        Follower: Move(EpochStep.UP, (_NEXT_LEADER,)),
    },
    Follower: {
        Unattached: Move(EpochStep.UP, (_HIGHER_EPOCH,)),
        Prospective: Move(
            EpochStep.NONE,
            (
                "fetch timeout",
                "its delay after the leader's EndQuorumEpoch",
                "the leader's address refuses connections",
            ),
        ),
        Follower: Move(EpochStep.ANY, (_NEXT_LEADER, "the leader names more endpoints")),
    },
}
"""Every legal move between two roles."""

FIRST_ROLES: Mapping[type[Role], str] = {
    Unattached: "knows no leader to follow",
    Prospective: "is the only voter",
    Candidate: "was a candidate when it stopped",
    Resigned: "was the leader when it stopped",
    Follower: "knows the leader of its epoch",
}
"""The roles that a node may start in, and when it does: see `raft.core.startup`. No node starts as Leader."""


def check_move(old: Role, new: Role) -> None:
    """Make sure that a move is one of the table, and forgets nothing that an epoch must remember.

    Raises:
        AssertionError: it is not in the table; or within one epoch a vote or a leader would be lost or replaced.
    """
    move = ALLOWED[type(old)].get(type(new))
    assert move is not None, f"no move from {type(old).__name__} to {type(new).__name__}"
    step, up = move.epoch, new.epoch - old.epoch
    is_right = {EpochStep.NONE: up == 0, EpochStep.ANY: up >= 0, EpochStep.ONE: up == 1, EpochStep.UP: up > 0}[step]
    assert is_right, f"{type(old).__name__} to {type(new).__name__} is {step.value}, not {old.epoch} to {new.epoch}"
    if up == 0:
        kept_vote = old.voted_key in (None, new.voted_key)
        assert kept_vote, f"voted for {old.voted_key} in epoch {old.epoch}, now {new.voted_key}"
        kept_leader = known_leader(old) in (None, known_leader(new))
        assert kept_leader, f"leader {known_leader(old)} of epoch {old.epoch}, now {known_leader(new)}"


def check_update(old: Role, new: Role) -> None:
    """Make sure that an update of a role leaves its class, epoch, vote and leader as they are: those change by moves.

    Raises:
        AssertionError: it changes one of them.
    """
    assert type(old) is type(new), f"an update of {type(old).__name__} makes it {type(new).__name__}"
    assert old.epoch == new.epoch, f"an update of {type(old).__name__} changes epoch {old.epoch} to {new.epoch}"
    assert old.voted_key == new.voted_key, f"an update in epoch {old.epoch} changes the vote of {old.voted_key}"
    assert known_leader(old) == known_leader(new), f"an update in epoch {old.epoch} changes the leader"
