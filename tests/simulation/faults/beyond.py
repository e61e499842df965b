"""What nobody can hold a quorum of kraft.version 0 to: disks that are not what they were (SCENARIO-16, OUT-9).

A voter is known by its number alone, so nobody can tell one that has lost its memory from the one it was before.
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
    """Does something to the disk of a machine while it is down."""

    def _take_down(self) -> Machine:
        """Pick a machine, and see to it that it is down."""
        victim = self._dice.pick(self._targets.machines)
        if victim.process is not None:
            victim.cut_power()
        return victim


class LostDisks(_Tampering):
    """Gives a machine that is down another disk: an empty one, or one with a copy that was made some time ago."""

    kind = Fault.LOST_DISK

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._copies: dict[NodeId, LossyDisk] = {}

    def _strike(self) -> bool:
        dice, targets = self._dice, self._targets
        copied = dice.pick(targets.machines)
        if copied.files.has_survivor(_FILE):
            self._copies.setdefault(copied.node_id, copied.files.copy())
        victim = self._take_down()
        copy = self._copies.pop(victim.node_id, None) if dice.draw(2) else None
        targets.story.tell(str(victim), "gets another disk, %s", "with an old copy" if copy else "an empty one")
        victim.tamper(copy or LossyDisk())
        return True


class StaleElectionStates(_Tampering):
    """Gives a machine that is down the election state back that it had some time ago, or none."""

    kind = Fault.STALE_ELECTION_STATE

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._copies: dict[NodeId, bytes] = {}

    def _strike(self) -> bool:
        targets = self._targets
        for machine in targets.machines:
            if machine.files.has_survivor(_FILE):
                self._copies.setdefault(machine.node_id, machine.files.survivor(_FILE))
        victim = self._take_down()
        copy = self._copies.pop(victim.node_id, None)
        if copy is None:
            return False
        targets.story.tell(str(victim), "has an old election state again: %s", copy)
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
        self._targets.story.tell(str(victim), "has a bit that changes at byte %s of %s", position, place.segment)
        victim.files.flip_bit(place.segment, position, dice.draw(_BITS_OF_BYTE))
        victim.tamper()
        return True
