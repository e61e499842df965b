"""Disks that refuse, and disks that forget."""

from __future__ import annotations

import errno

from raft.records.header import LENGTH_END
from tests.memory_files.files import Call
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis

_CALLS = 25
_WRITTEN_BYTES = 250
_BITS_OF_BYTE = 8
_EPOCH_BYTES = 4
"""They come right behind the length of a batch."""

_REFUSALS = (
    (Call.WRITE, errno.EIO),
    (Call.WRITE, errno.ENOSPC),
    (Call.FLUSH, errno.EIO),
    (Call.FLUSH, errno.EIO),
    (Call.FLUSH, errno.ENOSPC),
    (Call.TRUNCATE, errno.EIO),
    (Call.CREATE, errno.ENOSPC),
    (Call.RENAME, errno.EIO),
    (Call.SYNC_DIRECTORY, errno.EIO),
)


class DiskErrors(Nemesis):
    """Lets a disk refuse one of its next calls; of what was to be written, a part may be written nevertheless."""

    kind = Fault.DISK_ERROR

    def _strike(self) -> bool:
        dice, down = self._dice, self._targets.down
        victim = dice.pick(down) if down and dice.draw(3) == 0 else self._pick_victim()
        if victim is None:
            return False
        call, reason = dice.pick(_REFUSALS)
        calls = 1 if call is Call.TRUNCATE else _CALLS
        victim.files.fail(
            call, nth=1 + dice.draw(calls), reason=reason, written_bytes=dice.draw(2) * dice.draw(_WRITTEN_BYTES)
        )
        return True


class BitRot(Nemesis):
    """Changes a bit of a batch below the recovery point, or of one that others follow, on a machine that is down.

    Such damage has to be found at the next start, and the operator then restores the bit. Of a batch only the epoch is
    left alone: no checksum covers it (LOG-2), and one that neither rises nor falls too much cannot be told from a right
    one. What is taken for a torn write instead lies beyond what the quorum can always outlive: see `UnnoticedRot`.
    """

    kind = Fault.BIT_ROT

    def _strike(self) -> bool:
        dice = self._dice
        rotting = [machine for machine in self._targets.down if not machine.files.is_rotten]
        if not rotting:
            return False
        victim = dice.pick(rotting)
        batches = victim.written.places_below(victim.written.durable_end)
        covered = len(victim.written.places_below(victim.recovery_point))
        batches = batches[: max(covered, len(batches) - 1)]
        if not batches:
            return False
        place = dice.pick(batches)
        position = place.position + dice.draw(place.end_position - place.position - _EPOCH_BYTES)
        if position >= place.position + LENGTH_END:
            position += _EPOCH_BYTES
        self._targets.story.tell(str(victim), "has a bit that changes at byte %s of %s", position, place.segment)
        victim.files.rot(place.segment, position, dice.draw(_BITS_OF_BYTE))
        return True
