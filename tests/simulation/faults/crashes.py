"""Power cuts and killed processes."""

from __future__ import annotations

from collections.abc import Callable

from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    CheckSnapshot,
    DeleteBeforeSnapshot,
    Effect,
    FlushLog,
    InstallSnapshot,
    RollLog,
    StoreElectionState,
    StoreSnapshotPiece,
    TruncateLog,
)
from raft.storage.segment import LOG_SUFFIX
from raft.storage.snapshots import MAKING_SUFFIX, PART_SUFFIX
from raft.types import BatchHeader, WriteCommit
from tests.memory_files.files import Call
from tests.simulation.dice import Dice
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.machine import Machine

_DISK_CALLS = 40
_DISK_CALLS_OF_START = 12
_TRUNCATE_CALLS = 4
_SNAPSHOT_CALLS = (
    (Call.RENAME, PART_SUFFIX, 25),
    (Call.RENAME, PART_SUFFIX, 25),
    (Call.RENAME, MAKING_SUFFIX, 6),
    (Call.REMOVE, ".checkpoint", 3),
)
"""A snapshot replaces the log, is made, or is removed after a cut: the call, the end of the file's name, and after how
many calls at most the power is cut."""

_EFFECTS = 8
_RARE_EFFECTS: tuple[tuple[type[Effect], ...], ...] = (
    (StoreElectionState, RollLog),
    (AppendLeaderChange, DeleteBeforeSnapshot),
    (TruncateLog, StoreSnapshotPiece),
    (TruncateLog, CheckSnapshot),
    (TruncateLog, InstallSnapshot),
    (FlushLog,),
)
_LOADING: tuple[tuple[type[Effect], ...], ...] = ((StoreSnapshotPiece,), (CheckSnapshot,), (InstallSnapshot,))


class Crashes(Nemesis):
    """Crashes one machine: at once, in place of a disk call, or in place of an effect, which may be any or a rare one.

    A machine that is down already may lose its power again while it recovers, or while it loads a snapshot.
    """

    kind = Fault.CRASH

    def _strike(self) -> bool:
        down = self._targets.down
        if down and self._dice.draw(3) == 0:
            machine = self._dice.pick(down)
            if self._dice.draw(2):
                machine.files.cut_power_before(1 + self._dice.draw(_DISK_CALLS_OF_START))
            else:
                _crash_while_loading(machine, self._dice)
            return True
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return False
        match self._dice.draw(12):
            case 0:
                victim.cut_power()
            case 10 | 11:
                # A part of a commit's markers is left only if the power is cut before they are flushed.
                for machine in self._targets.running:
                    _cut_power_in_commit(machine)
            case 1 | 2:
                victim.files.cut_power_before(1 + self._dice.draw(_DISK_CALLS))
            case 3 | 4:
                # What a truncation leaves shows only if the power is cut before the next flush. Truncations are rare.
                for machine in self._targets.running:
                    machine.files.cut_power_at(Call.TRUNCATE, calls_later=self._dice.draw(_TRUNCATE_CALLS))
            case 5:
                victim.kill()
            case 6:
                _cut_power_in_snapshot(victim, self._dice)
            case 7:
                victim.process.plan_kill(_after(self._dice.draw(_EFFECTS)))
            case _:
                victim.process.plan_kill(_at(self._dice.pick(_RARE_EFFECTS)))
        return True


class NewDisks(Nemesis):
    """Gives an observer an empty disk: it has to load a snapshot, if there is one, and may crash meanwhile.

    The quorum does not count on observers.
    """

    kind = Fault.NEW_DISK

    def _strike(self) -> bool:
        observers = [machine for machine in self._targets.machines if not machine.is_voter]
        if not observers:
            return False
        victim = self._dice.pick(observers)
        if victim.process is not None:
            victim.cut_power()
        self._targets.run_log.add(str(victim), "gets an empty disk")
        victim.tamper(LossyDisk())
        if self._dice.draw(2):
            _crash_while_loading(victim, self._dice)
        return True


def _crash_while_loading(machine: Machine, dice: Dice) -> None:
    """Crash a machine that is down when it loads a snapshot after its start."""
    if dice.draw(2):
        machine.planned_kill = _at(dice.pick(_LOADING))
    else:
        _cut_power_in_snapshot(machine, dice)


def _cut_power_in_snapshot(machine: Machine, dice: Dice) -> None:
    call, suffix, calls = dice.pick(_SNAPSHOT_CALLS)
    machine.files.cut_power_at(call, suffix=suffix, calls_later=dice.draw(calls))


def _cut_power_in_commit(machine: Machine) -> None:
    """Cut the power in place of the flush of the next WRITE_COMMIT."""

    def plan_cut(effect: Effect) -> bool:
        if isinstance(effect, AppendBatches) and any(_is_commit(batch.header) for batch in effect.batches):
            machine.files.cut_power_at(Call.FLUSH, suffix=LOG_SUFFIX)
        return False

    assert machine.process is not None, f"{machine} is down"
    machine.process.plan_kill(plan_cut)


def _is_commit(header: BatchHeader) -> bool:
    return isinstance(header.control_value, WriteCommit)


def _after(effects: int) -> Callable[[Effect], bool]:
    """Return a predicate that is true for the effect behind so many others."""
    left = iter(range(effects))
    return lambda _effect: next(left, None) is None


def _at(kinds: tuple[type[Effect], ...]) -> Callable[[Effect], bool]:
    """Return a predicate that is true for effects of these kinds."""
    return lambda effect: isinstance(effect, kinds)


class Blackouts(Nemesis):
    """Cuts the power of all machines at once."""

    kind = Fault.BLACKOUT

    def _strike(self) -> bool:
        self._targets.run_log.add("power", "fails everywhere")
        for machine in self._targets.running:
            machine.cut_power()
        return True
