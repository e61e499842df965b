"""Faults that a quorum of kraft.version 0 does not always tolerate: lost and old disks (SCENARIO-16, OUT-9).

Voters are known by their ids alone, so no node can tell a voter that has lost its disk from the one that it was before.
"""

from __future__ import annotations

from raft.storage.election_state import ELECTION_STATE_NAME
from raft.types import NodeId
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.machine import Machine
from tests.simulation.starting import DIRECTORY

_BITS_OF_BYTE = 8
_FILE = f"{DIRECTORY}/{ELECTION_STATE_NAME}"


class _Tampering(Nemesis):
    """Changes the disk of a machine that is down."""

    def _take_down(self) -> Machine:
        """Pick a machine, and cut its power if it runs."""
        victim = self._dice.pick(self._targets.machines)
        if victim.process is not None:
            victim.cut_power()
        return victim


class LostDisks(_Tampering):
    """Replaces the disk of a machine by an empty one, or by a copy that was made some time before."""

    kind = Fault.LOST_DISK

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._copies: dict[NodeId, LossyDisk] = {}

    def _strike(self) -> bool:
        dice, targets = self._dice, self._targets
        copied = dice.pick(targets.machines)
        if copied.files.is_durable(_FILE):
            self._copies.setdefault(copied.node_id, copied.files.copy())
        victim = self._take_down()
        copy = self._copies.pop(victim.node_id, None) if dice.draw(2) else None
        targets.run_log.add(str(victim), "gets another disk, %s", "with an old copy" if copy else "an empty one")
        victim.tamper(copy or LossyDisk())
        return True


class StaleElectionStates(_Tampering):
    """Replaces the election state of a machine by one that it had some time before."""

    kind = Fault.STALE_ELECTION_STATE

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._copies: dict[NodeId, bytes] = {}

    def _strike(self) -> bool:
        targets = self._targets
        for machine in targets.machines:
            if machine.files.is_durable(_FILE):
                self._copies.setdefault(machine.node_id, machine.files.durable_bytes(_FILE))
        victim = self._take_down()
        copy = self._copies.pop(victim.node_id, None)
        if copy is None:
            return False
        targets.run_log.add(str(victim), "gets an old election state: %s", copy)
        victim.files.put(_FILE, copy)
        victim.tamper()
        return True


class UnnoticedRot(_Tampering):
    """Flips a bit of the last batch of a log, if it is flushed and above the recovery point."""

    kind = Fault.UNNOTICED_ROT

    def _strike(self) -> bool:
        dice = self._dice
        victim = self._take_down()
        end_offset = victim.written.find_durable_end()
        if end_offset <= victim.recovery_point:
            return False
        place = victim.written.places_below(end_offset)[-1]
        position = place.checked_from + dice.draw(place.end_position - place.checked_from)
        self._targets.run_log.add(str(victim), "has a bit flipped at byte %s of %s", position, place.segment)
        victim.files.flip_bit(place.segment, position, dice.draw(_BITS_OF_BYTE))
        victim.tamper()
        return True
