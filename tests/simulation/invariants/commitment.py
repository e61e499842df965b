"""Invariants of commitment: what is committed is durable on a majority of voters, and never changes."""

from __future__ import annotations

from collections.abc import Sequence

from raft.types import Epoch, Offset
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import Invariant
from tests.simulation.machine import Machine
from tests.simulation.step import Step


class HighWatermarkNeverFalls(Invariant):
    """The high watermark never falls, neither at a node while it runs, nor from one leader to the next."""

    rules = ("TEST-6", "HW-3", "HW-4", "HW-5")

    def __init__(self) -> None:
        self._by_epoch: dict[Epoch, Offset] = {}

    def high_watermark_moved(self, step: Step) -> None:
        before, after = step.high_watermark_before, step.high_watermark
        leadership, machine = step.leadership, step.machine
        if after is None:
            self.require(step.begins_leadership, "%s no longer knows its high watermark %s", machine, before)
            return
        self.require(
            before is None or after > before, "%s: the high watermark falls from %s to %s", machine, before, after
        )
        if leadership is not None:
            epoch = leadership.epoch
            reached = max((end for other, end in self._by_epoch.items() if other <= epoch), default=Offset(0))
            self.require(
                after >= reached, "%s leads epoch %s with high watermark %s after %s", machine, epoch, after, reached
            )
            self._by_epoch[epoch] = after


class CommitNeedsRecordOfOwnEpoch(Invariant):
    """A leader moves the high watermark only past a record of its own epoch; older records are committed with it."""

    rules = ("HW-2", "TEST-10")

    def high_watermark_moved(self, step: Step) -> None:
        end_offset, leadership = step.high_watermark, step.leadership
        if leadership is not None and end_offset is not None:
            last = step.log.entry_before(end_offset)
            epoch = None if last is None else last.header.epoch
            is_own = epoch == leadership.epoch
            self.require(
                is_own, "%s leads epoch %s, commits a last record of epoch %s", step.machine, leadership.epoch, epoch
            )


class CommittedIsDurable(Invariant):
    """What a leader commits is durable on a majority of voters at that moment."""

    rules = ("TEST-6", "HW-1", "HW-7", "TEST-12")

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._voters = [machine for machine in machines if machine.is_voter]

    def high_watermark_moved(self, step: Step) -> None:
        end_offset = step.high_watermark
        if end_offset is None or step.leadership is None:
            return
        chain = step.log.chain_at(end_offset)
        self.require(chain is not None, "%s commits up to %s, which is inside a batch", step.machine, end_offset)
        holders = [
            voter
            for voter in self._voters
            if voter.written.durable_end >= end_offset and voter.written.model.chain_at(end_offset) == chain
        ]
        is_safe = len(holders) > len(self._voters) // 2
        self.require(is_safe, "%s commits up to %s, durable only on %s", step.machine, end_offset, [*map(str, holders)])


class CommittedNeverChanges(Invariant):
    """All nodes agree on every byte that is committed, at all times. This invariant keeps the committed log."""

    rules = ("TEST-8",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def high_watermark_moved(self, step: Step) -> None:
        end_offset, machine, committed = step.high_watermark, step.machine, self._committed
        if end_offset is None:
            return
        known_end = min(end_offset, committed.end_offset)
        is_same = step.log.chain_at(known_end) == committed.model.chain_at(known_end) is not None
        self.require(is_same, "%s: committed records below %s differ from those of other nodes", machine, known_end)
        if end_offset > committed.end_offset:
            self.require(
                step.leadership is not None,
                "%s does not lead, and is the first to commit up to %s",
                machine,
                end_offset,
            )
            committed.extend(step.log.between(committed.end_offset, end_offset))


class LeadersAreComplete(Invariant):
    """A leader has every record that leaders of lower epochs have committed (Raft's leader completeness).

    It is checked when a leader is elected, and when a leader of a lower epoch still commits records. A leader whose
    last vote arrives late may lack records that a leader of a higher epoch has committed meanwhile.
    """

    rules = ("TEST-10",)

    def __init__(self, committed: CommittedLog, machines: Sequence[Machine]) -> None:
        self._committed = committed
        self._machines = machines
        self._ends: dict[Epoch, Offset] = {}

    def role_changed(self, step: Step) -> None:
        if step.begins_leadership:
            epoch = step.machine.core.epoch
            self._check(step.machine, max((end for by, end in self._ends.items() if by < epoch), default=Offset(0)))

    def high_watermark_moved(self, step: Step) -> None:
        if step.high_watermark == self._committed.end_offset:
            if step.leadership is not None:
                self._ends[step.leadership.epoch] = step.high_watermark
            for machine in self._machines:
                if machine.is_leader and machine.core.epoch >= step.role_after.epoch:
                    self._check(machine, step.high_watermark)

    def _check(self, leader: Machine, end_offset: Offset) -> None:
        is_complete = leader.log.chain_at(end_offset) == self._committed.model.chain_at(end_offset)
        self.require(
            is_complete, "%s leads epoch %s and lacks committed records below %s", leader, leader.core.epoch, end_offset
        )


class CheckpointIsCommitted(Invariant):
    """Everything below a checkpointed high watermark is committed, and durable on that disk."""

    rules = ("LOG-21",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def checkpoints_written(self, machine: Machine) -> None:
        self._check(machine)

    def node_started(self, machine: Machine) -> None:
        self._check(machine)

    def _check(self, machine: Machine) -> None:
        offset, written = machine.checkpointed_high_watermark, machine.written
        self.require(
            offset <= written.durable_end,
            "%s: the checkpoint is %s, durable is %s",
            machine,
            offset,
            written.durable_end,
        )
        chain = written.model.chain_at(offset)
        is_committed = offset <= self._committed.end_offset and chain == self._committed.model.chain_at(offset)
        self.require(
            is_committed, "%s: the checkpoint is %s, committed is %s", machine, offset, self._committed.end_offset
        )
