"""Invariants of damaged logs."""

from __future__ import annotations

from raft.core.effects import RepairLog, RoleChanged, SendRequest, SendResponse
from raft.core.messages import FetchRequest, VoteRequest
from raft.core.roles import Follower, Leader, Prospective
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan
from tests.simulation.step import Step

_ROUNDS_ASIDE = 2


class SoundLogHasNoDamage(Invariant):
    """A node whose disk is as it was written finds no damage."""

    rules = ("LOG-26",)

    def event_handled(self, step: Step) -> None:
        process = step.machine.process
        if process is not None and not step.machine.has_been_damaged:
            damage = process.found_damage
            self.require(not damage, "%s: %s", step.machine, damage)


class ReplicasGetSoundRecords(Invariant):
    """A leader sends replicas the records of its log as they were written, whatever became of them on its disk."""

    rules = ("LOG-30",)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if not isinstance(request, FetchRequest) or not records or not machine.is_leader:
            return
        if request.epoch != machine.core.epoch:
            return  # The log may have been truncated since the read was ordered.
        position = 0
        for entry in machine.log.after(request.fetch_offset):
            if position >= len(records):
                break
            is_same = records.startswith(entry.payload, position)
            self.require(is_same, "%s responds to %s with other records than were written", machine, request)
            position += len(entry.payload)


class DamagedLeaderHandsOver(Invariant):
    """A leader that knows of damage does not lead on while a sound voter that has fetched everything can be elected."""

    rules = ("LOG-30",)

    def __init__(self, plan: Plan) -> None:
        self._lately_ms = plan.timeouts.fetch_ms
        self._majority = len(plan.voters) // 2 + 1

    def event_handled(self, step: Step) -> None:
        role, machine = step.role_after, step.machine
        if not isinstance(role, Leader) or machine.process is None or not machine.core.damage.exists:
            return
        since_ms = step.now_ms - self._lately_ms
        active = [each for each in role.progress.voters.values() if (each.last_fetch_ms or -1) >= max(since_ms, 0)]
        whole = [each for each in active if each.is_fit and each.fetch_offset == step.log.end_offset]
        can_hand_over = bool(whole) and len(active) + 1 >= self._majority
        self.require(not can_hand_over, "%s leads with a damaged log, and a sound voter has everything", machine)


class DamagedVoterStandsAside(Invariant):
    """A voter that knows of damage requests no pre-votes in its first two rounds since it was led.

    Rounds in which its disk was full count too: it has left them to others as well.
    """

    rules = ("LOG-30",)

    def __init__(self) -> None:
        self._rounds: dict[Machine, int] = {}

    def node_started(self, machine: Machine) -> None:
        self._rounds[machine] = 0

    def event_handled(self, step: Step) -> None:
        machine, role = step.machine, step.role_after
        if machine.process is None:
            return
        if isinstance(role, Leader) or (isinstance(role, Follower) and role.has_fetched):
            self._rounds[machine] = 0
        begun = sum(isinstance(each, RoleChanged) and isinstance(each.new, Prospective) for each in step.effects)
        if begun:
            stands_aside = machine.core.damage.exists or machine.core.is_disk_full
            self._rounds[machine] = self._rounds.get(machine, 0) + begun if stands_aside else 0

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        request = order.request
        if isinstance(request, VoteRequest) and request.pre_vote and machine.core.damage.exists:
            rounds = self._rounds.get(machine, 0)
            is_late = rounds > _ROUNDS_ASIDE or rounds == 0
            self.require(is_late, "%s requests pre-votes in round %s with a damaged log", machine, rounds)


class FetchesNameDamage(Invariant):
    """The fetch of a replica says whether it knows of damage."""

    rules = ("LOG-30",)

    def event_handled(self, step: Step) -> None:
        if step.machine.process is None:
            return
        is_damaged = step.machine.core.damage.exists
        for effect in step.effects:
            if isinstance(effect, SendRequest) and isinstance(effect.request, FetchRequest):
                is_named = effect.request.is_damaged == is_damaged
                self.require(is_named, "%s knows of damage: %s, and sends %s", step.machine, is_damaged, effect.request)


class RepairsAreCommitted(Invariant):
    """The batches that replace damaged ones are those of the committed log."""

    rules = ("LOG-31",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def event_handled(self, step: Step) -> None:
        for effect in step.effects:
            if not isinstance(effect, RepairLog):
                continue
            entries = self._committed.model.after(effect.batches[0].header.base_offset)
            for batch, entry in zip(effect.batches, entries, strict=False):
                is_same = (batch.payload, batch.header) == (entry.payload, entry.header)
                self.require(is_same, "%s repairs its log with other batches than are committed", step.machine)
