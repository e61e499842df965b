"""Faults of disks that a node has to find and to repair by itself."""

from __future__ import annotations

from raft.records.header_fields import CHECKED_FROM, HEADER
from raft.types import Offset
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.machine import Machine

_BITS_OF_BYTE = 8
_LAST_OFFSET_DELTA = range(23, 27)


class Damages(Nemesis):
    """Flips a bit of a committed batch of a running voter, in half of the cases of a leader; of a minority at a time.

    It is a bit of the offset, the length, the epoch, the magic, the checksum or the records. The other numbers of a
    header are read by plans of batches too, without a look at the checksum.
    """

    kind = Fault.DAMAGE

    def _strike(self) -> bool:
        dice, voters = self._dice, [machine for machine in self._targets.machines if machine.is_voter]
        damaged = [machine for machine in voters if machine.has_damaged_disk]
        victim = self._pick_victim()
        if victim is None or not victim.is_voter or victim in damaged or 2 * (len(damaged) + 1) >= len(voters):
            return False
        batches = victim.written.places_below(min(victim.written.durable_end, _committed_end(victim)))
        if not batches:
            return False
        place = dice.pick(batches)
        size_bytes = place.end_position - place.position
        at = dice.pick([*range(CHECKED_FROM), *_LAST_OFFSET_DELTA, *range(HEADER.size, size_bytes)])
        self._targets.run_log.add(str(victim), "is damaged at byte %s of %s", place.position + at, place.segment)
        victim.damage(place.segment, place.position + at, dice.draw(_BITS_OF_BYTE))
        return True


def _committed_end(machine: Machine) -> Offset:
    return machine.core.high_watermark or Offset(0)
