"""Faults of disks: errors and flipped bits."""

from __future__ import annotations

import errno
from functools import partial

from raft.records.batches import read_batches
from raft.records.header_fields import LENGTH_END
from raft.storage.snapshots import SnapshotFolder
from tests.memory_files.files import Call
from tests.simulation.dice import Dice
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.machine import Machine
from tests.simulation.starting import DIRECTORY, RESERVE_BYTES

_CALLS = 25
_FULL_MS = (500, 10_000)
_WRITTEN_BYTES = 250
_BITS_OF_BYTE = 8
_EPOCH_BYTES = 4
"""The epoch follows the length of a batch."""

_ERRORS = (
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
    """Makes one of the next calls of a disk fail; a failed write may still write a part of its bytes.

    A node goes on if there was only no room for a call that is no flush.
    """

    kind = Fault.DISK_ERROR

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._creations = Dice(targets.plan.seed, "failed creations")

    def _strike(self) -> bool:
        dice, down = self._dice, self._targets.down
        victim = dice.pick(down) if down and dice.draw(3) == 0 else self._pick_victim()
        if victim is None:
            return False
        call, reason = dice.pick(_ERRORS)
        if call is Call.CREATE and self._creations.draw(2):
            reason = errno.EIO
        calls = 1 if call is Call.TRUNCATE else _CALLS
        victim.files.fail(
            call, nth=1 + dice.draw(calls), reason=reason, written_bytes=dice.draw(2) * dice.draw(_WRITTEN_BYTES)
        )
        return True


class FullDisks(Nemesis):
    """Fills the disk of one machine, or of all, up to the reserve or beyond, and makes room again later.

    In half of the cases the other program takes all that is left, so that writes fail.
    """

    kind = Fault.FULL_DISK

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._takers = Dice(targets.plan.seed, "programs that take all room")

    def _strike(self) -> bool:
        dice, targets = self._dice, self._targets
        victim = self._pick_victim()
        victims = targets.machines if dice.draw(3) == 0 else [victim] if victim is not None else []
        for machine in victims:
            free_bytes, writes = dice.draw(2 * RESERVE_BYTES), self._takers.draw(_CALLS)
            targets.run_log.add(str(machine), "has %s bytes free on its disk", free_bytes)
            machine.files.fill(free_bytes)
            if self._takers.draw(2):
                targets.run_log.add(str(machine), "has none of them free after %s writes", writes)
                machine.files.take_all_room(after_writes=writes)
            targets.timeline.after(dice.between(_FULL_MS), partial(machine.files.fill, None))
        return bool(victims)


class BitRot(Nemesis):
    """Flips a bit of a batch below the recovery point, or of one that others follow, on a machine that is down.

    The batch may also be one of the newest snapshot.

    The next start has to find this damage, and an operator then restores the bit. The epoch of a batch is not changed:
    no checksum covers it (LOG-2), so a plausible wrong epoch cannot be found. Damage that looks like a torn write is
    not always tolerated; see `UnnoticedRot`.
    """

    kind = Fault.BIT_ROT

    def _strike(self) -> bool:
        dice = self._dice
        rotting = [machine for machine in self._targets.down if not machine.has_damaged_disk]
        if not rotting:
            return False
        victim = dice.pick(rotting)
        if dice.draw(3) == 0 and self._rot_snapshot(victim):
            return True
        batches = victim.written.places_below(victim.written.durable_end)
        covered = len(victim.written.places_below(victim.recovery_point))
        batches = batches[: max(covered, len(batches) - 1)]
        if not batches:
            return False
        place = dice.pick(batches)
        position = place.position + dice.draw(place.end_position - place.position - _EPOCH_BYTES)
        if position >= place.position + LENGTH_END:
            position += _EPOCH_BYTES
        self._rot(victim, place.segment, position)
        return True

    def _rot_snapshot(self, victim: Machine) -> bool:
        files = victim.files
        folder = SnapshotFolder(files, DIRECTORY)
        newest = folder.newest() if files.exists(DIRECTORY) else None
        if newest is None or folder.interrupted_install() is not None:
            return False
        name = folder.name_of(newest)
        sizes = [batch.header.size_bytes for batch in read_batches(files.read(name))]
        chosen = self._dice.draw(len(sizes))
        position = sum(sizes[:chosen]) + LENGTH_END + _EPOCH_BYTES
        self._rot(victim, name, position + self._dice.draw(sizes[chosen] - LENGTH_END - _EPOCH_BYTES))
        return True

    def _rot(self, victim: Machine, name: str, position: int) -> None:
        self._targets.run_log.add(str(victim), "has a bit flipped at byte %s of %s", position, name)
        victim.files.rot(name, position, self._dice.draw(_BITS_OF_BYTE))
