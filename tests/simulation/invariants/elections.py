"""Invariants of elections: leaders, votes and epochs, also across restarts."""

from __future__ import annotations

from collections.abc import Mapping

from raft.core.effects import AppendLeaderChange, SendRequest
from raft.core.messages import is_for_records
from raft.core.roles import Candidate, Follower, Unattached
from raft.types import ElectionState, Epoch, NodeId, ReplicaKey
from tests.simulation.invariants.observer import Invariant
from tests.simulation.machine import Machine
from tests.simulation.step import Step


class OneLeaderPerEpoch(Invariant):
    """Each epoch has at most one leader, in all roles and in all stored election states."""

    rules = ("TEST-4", "ROLE-6")

    def __init__(self) -> None:
        self._leaders: dict[Epoch, NodeId] = {}

    def node_started(self, machine: Machine) -> None:
        self._claim(machine, machine.stored.epoch, machine.stored.leader_id)

    def election_state_stored(self, machine: Machine) -> None:
        self._claim(machine, machine.stored.epoch, machine.stored.leader_id)

    def role_changed(self, step: Step) -> None:
        role = step.role_after
        if not isinstance(role, Candidate):
            self._claim(step.machine, role.epoch, role.leader_id)

    def _claim(self, machine: Machine, epoch: Epoch, leader_id: NodeId | None) -> None:
        if leader_id is not None:
            known = self._leaders.setdefault(epoch, leader_id)
            self.require(
                known == leader_id, "%s names %s leader of epoch %s, known is %s", machine, leader_id, epoch, known
            )


class LeadershipEndsWithTheProcess(Invariant):
    """A node that led an epoch and stopped does not lead it again: it could write other records at the same offsets.

    Leadership counts once it is stored: a node that crashed before that has told no other node of it, and may win the
    same votes again.
    """

    rules = ("STATE-11", "STATE-15")

    def __init__(self) -> None:
        self._incarnations: dict[tuple[NodeId, Epoch], int] = {}

    def disk_was_changed(self, machine: Machine) -> None:
        self._incarnations = {
            leadership: incarnation
            for leadership, incarnation in self._incarnations.items()
            if leadership[0] != machine.node_id
        }

    def node_started(self, machine: Machine) -> None:
        self._note(machine, machine.incarnation - 1)

    def election_state_stored(self, machine: Machine) -> None:
        self._note(machine, machine.incarnation)

    def role_changed(self, step: Step) -> None:
        machine, leadership = step.machine, step.leadership
        if step.begins_leadership and leadership is not None:
            epoch = leadership.epoch
            led_by = self._incarnations.get((machine.node_id, epoch), machine.incarnation)
            self.require(
                led_by == machine.incarnation, "%s leads epoch %s, which it led before a restart", machine, epoch
            )

    def _note(self, machine: Machine, incarnation: int) -> None:
        if machine.stored.leader_id == machine.node_id:
            self._incarnations.setdefault((machine.node_id, machine.stored.epoch), incarnation)


class OneVotePerEpoch(Invariant):
    """A node votes for at most one candidate in an epoch, also across restarts.

    A vote counts once it is stored: one that was lost in a crash before that was never sent.
    """

    rules = ("TEST-5", "VOTE-8", "ROLE-5")

    def __init__(self) -> None:
        self._votes: dict[tuple[NodeId, Epoch], NodeId] = {}
        self._current: dict[NodeId, tuple[Epoch, NodeId | None]] = {}

    @property
    def votes(self) -> Mapping[tuple[NodeId, Epoch], NodeId]:
        """The candidates of all stored votes, by voter and epoch."""
        return self._votes

    def disk_was_changed(self, machine: Machine) -> None:
        self._votes = {vote: candidate for vote, candidate in self._votes.items() if vote[0] != machine.node_id}

    def node_started(self, machine: Machine) -> None:
        self._current.pop(machine.node_id, None)
        self._bind(machine)

    def election_state_stored(self, machine: Machine) -> None:
        self._bind(machine)

    def role_changed(self, step: Step) -> None:
        machine, role = step.machine, step.role_after
        voted_id = _id_of(role.voted_key)
        epoch_before, voted_before = self._current.get(machine.node_id, (None, None))
        if epoch_before == role.epoch:
            self._require_same(machine, role.epoch, voted_before, voted_id)
        self._require_same(machine, role.epoch, self._votes.get((machine.node_id, role.epoch)), voted_id)
        self._current[machine.node_id] = (role.epoch, voted_id)

    def _bind(self, machine: Machine) -> None:
        stored = machine.stored
        voted_id = _id_of(stored.voted_key)
        self._require_same(machine, stored.epoch, self._votes.get((machine.node_id, stored.epoch)), voted_id)
        if voted_id is not None:
            self._votes[machine.node_id, stored.epoch] = voted_id

    def _require_same(self, machine: Machine, epoch: Epoch, before: NodeId | None, now: NodeId | None) -> None:
        self.require(before in (None, now), "%s voted for %s in epoch %s, now for %s", machine, before, epoch, now)


class ElectedByMajority(Invariant):
    """A leader has the stored votes of a majority of voters."""

    rules = ("VOTE-18", "ROLE-3")

    def __init__(self, voters: tuple[NodeId, ...], votes: OneVotePerEpoch) -> None:
        self._voters = voters
        self._votes = votes

    def role_changed(self, step: Step) -> None:
        for effect in step.effects:
            if isinstance(effect, AppendLeaderChange):
                self._check(step.machine, effect)

    def _check(self, machine: Machine, change: AppendLeaderChange) -> None:
        granted = set(change.granting_voters)
        self.require(granted <= set(self._voters), "%s counts votes of %s, not all of them voters", machine, granted)
        self.require(len(granted) > len(self._voters) // 2, "%s leads with votes of %s only", machine, granted)
        for voter in granted - {machine.node_id}:
            vote = self._votes.votes.get((voter, change.epoch))
            self.require(
                vote == machine.node_id, "%s counts the vote of %s, which stored a vote for %s", machine, voter, vote
            )


class EpochNeverFalls(Invariant):
    """A node's epoch never falls, neither in memory nor on its disk, also across restarts."""

    rules = ("TEST-3", "ROLE-4")

    def __init__(self) -> None:
        self._stored: dict[NodeId, Epoch] = {}
        self._current: dict[NodeId, Epoch] = {}

    def disk_was_changed(self, machine: Machine) -> None:
        self._stored.pop(machine.node_id, None)

    def node_started(self, machine: Machine) -> None:
        self._check_stored(machine)
        self._current[machine.node_id] = machine.stored.epoch

    def election_state_stored(self, machine: Machine) -> None:
        self._check_stored(machine)

    def role_changed(self, step: Step) -> None:
        machine, epoch = step.machine, step.role_after.epoch
        before = self._current[machine.node_id]
        self.require(epoch >= before, "%s: the epoch falls from %s to %s", machine, before, epoch)
        self._current[machine.node_id] = epoch

    def _check_stored(self, machine: Machine) -> None:
        before = self._stored.get(machine.node_id, Epoch(0))
        epoch = machine.stored.epoch
        self.require(epoch >= before, "%s: the stored epoch falls from %s to %s", machine, before, epoch)
        self._stored[machine.node_id] = epoch


class ObserversOnlyFollow(Invariant):
    """Observers are unattached or follow, and send no requests but fetches."""

    rules = ("ROLE-7", "TEST-12", "PREVOTE-22")

    def role_changed(self, step: Step) -> None:
        if not step.machine.is_voter:
            role = step.role_after
            self.require(
                isinstance(role, Unattached | Follower), "%s is an observer with the role %s", step.machine, role
            )

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        if not machine.is_voter:
            is_fetch = is_for_records(order.request)
            self.require(is_fetch, "%s is an observer and sends %s", machine, order.request)


def stored_vote(state: ElectionState) -> NodeId | None:
    """Return the candidate of a stored vote; the file holds its id only."""
    return _id_of(state.voted_key)


def _id_of(key: ReplicaKey | None) -> NodeId | None:
    return None if key is None else key.node_id
