"""What nobody can hold a quorum of kraft.version 0 to: disks that are not what they were (SCENARIO-16, OUT-9).

A voter is known by its number alone, so nobody can tell one that has lost its memory from the one it was before.
"""

from __future__ import annotations

from raft.storage.election_state import ELECTION_STATE_NAME
from raft.types import NodeId
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Prey
from tests.simulation.machine import Machine
from tests.simulation.platter import Platter
from tests.simulation.starting import DIRECTORY

_BITS_OF_BYTE = 8
_FILE = f"{DIRECTORY}/{ELECTION_STATE_NAME}"


class _Tampering(Nemesis):
    """Does something to the disk of a machine while it is down."""

    def _take_down(self) -> Machine:
        """Pick a machine, and see to it that it is down."""
        victim = self._dice.pick(self._prey.machines)
        if victim.process is not None:
            victim.cut_power()
        return victim


class LostDisks(_Tampering):
    """Gives a machine that is down another disk: an empty one, or one with a copy that was made some time ago."""

    kind = Fault.LOST_DISK

    def __init__(self, prey: Prey) -> None:
        super().__init__(prey)
        self._copies: dict[NodeId, Platter] = {}

    def _strike(self) -> bool:
        dice, prey = self._dice, self._prey
        copied = dice.pick(prey.machines)
        if copied.files.has_survivor(_FILE):
            self._copies.setdefault(copied.node_id, copied.files.copy())
        victim = self._take_down()
        copy = self._copies.pop(victim.node_id, None) if dice.draw(2) else None
        prey.story.tell(str(victim), "gets another disk, %s", "with an old copy" if copy else "an empty one")
        victim.tamper(copy or Platter())
        return True


class StaleElectionStates(_Tampering):
    """Gives a machine that is down the election state back that it had some time ago, or none."""

    kind = Fault.STALE_ELECTION_STATE

    def __init__(self, prey: Prey) -> None:
        super().__init__(prey)
        self._copies: dict[NodeId, bytes] = {}

    def _strike(self) -> bool:
        prey = self._prey
        for machine in prey.machines:
            if machine.files.has_survivor(_FILE):
                self._copies.setdefault(machine.node_id, machine.files.survivor(_FILE))
        victim = self._take_down()
        copy = self._copies.pop(victim.node_id, None)
        if copy is None:
            return False
        prey.story.tell(str(victim), "has an old election state again: %s", copy)
        victim.files.put(_FILE, copy)
        victim.tamper()
        return True


class UnnoticedRot(_Tampering):
    """Changes a bit of the last batch of a log, when it was flushed but the recovery point does not cover it yet."""

    kind = Fault.UNNOTICED_ROT

    def _strike(self) -> bool:
        dice = self._dice
        victim = self._take_down()
        end_offset = victim.written.look()
        if end_offset <= victim.recovery_point:
            return False
        place = victim.written.places_below(end_offset)[-1]
        position = place.checked_from + dice.draw(place.end_position - place.checked_from)
        self._prey.story.tell(str(victim), "has a bit that changes at byte %s of %s", position, place.segment)
        victim.files.flip_bit(place.segment, position, dice.draw(_BITS_OF_BYTE))
        victim.tamper()
        return True
