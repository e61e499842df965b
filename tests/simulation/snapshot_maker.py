"""Makes snapshots in virtual time, as the child process of a node does."""

from __future__ import annotations

from collections.abc import Callable, Generator

from raft.compaction import SnapshotOrder, make_snapshot
from raft.compaction.compactor import Compactor
from raft.errors import DiskFullError, StorageError
from tests.memory_files.files import PowerCutError
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.dice import Dice
from tests.simulation.event_loop import EventLoop
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.plan import SnapshotPlan
from tests.simulation.starting import DIRECTORY
from tests.simulation.timeline import Rank, Timeline

_PIECES = 8
"""A snapshot takes as many turns, unless it is larger."""


class SimulatedSnapshotMaker:
    """See `SnapshotMaker`. A snapshot is made in several turns, between which the node does other things.

    Args:
        files: the disk of the machine.
        loop: the event loop of the node.
        timeline: virtual time.
        dice: draws how long it takes.
        plan: how long it may take.
        is_over: whether the process has ended.
        power_failed: called when a planned power cut has come.
    """

    def __init__(
        self,
        files: LossyDisk,
        loop: EventLoop,
        timeline: Timeline,
        dice: Dice,
        plan: SnapshotPlan,
        *,
        is_over: Callable[[], bool],
        power_failed: Callable[[], None],
    ) -> None:
        self._files = files
        self._loop = loop
        self._timeline = timeline
        self._dice = dice
        self._plan = plan
        self._is_over = is_over
        self._power_failed = power_failed
        self._was_damaged = False

    def make(self, order: SnapshotOrder, done: Callable[[str | None], None]) -> None:
        """See `SnapshotMaker.make`."""
        compactor = Compactor(now_ms=self._loop.wall_clock_ms(), delete_retention_ms=self._plan.delete_retention_ms)
        making = make_snapshot(self._files, DIRECTORY, order, compactor)
        turn_ms = self._dice.between(self._plan.make_ms) // _PIECES
        self._was_damaged = False

        def go_on() -> None:
            self._go_on(order, making, done, lambda: self._timeline.after(turn_ms, go_on, Rank.DISK))

        self._timeline.after(turn_ms, go_on, Rank.DISK)

    def _has_failed(self) -> bool:
        """Whether the disk has returned an error that is not handled yet."""
        return self._files.disk_error is not None

    def _note_damage(self) -> None:
        """Remember whether a bit of the disk is flipped: it may be repaired after it was read."""
        self._was_damaged = self._was_damaged or self._files.damaged_file is not None

    def _has_all(self, order: SnapshotOrder) -> bool:
        """Whether the segments are there: no snapshot of another node has replaced them."""
        return all(self._files.exists(f"{DIRECTORY}/{base_offset:020d}.log") for base_offset in order.segments)

    def _go_on(
        self,
        order: SnapshotOrder,
        making: Generator[None, None, None],
        done: Callable[[str | None], None],
        again: Callable[[], None],
    ) -> None:
        if self._is_over() or self._has_failed():
            # The node has ended, or its disk has failed and it is about to stop: nothing uses the snapshot.
            making.close()
            return
        self._note_damage()
        try:
            next(making)
        except StopIteration:
            self._loop.post(lambda: done(None))
        except StorageError as error:
            is_reason = self._has_failed() or isinstance(error, DiskFullError)
            if not is_reason and self._has_all(order) and not self._was_damaged:
                raise BrokenInvariantError("SnapshotsAreMade", ("SNAPSHOT-1",), str(error)) from error
            # The error is that of another process: it ends this snapshot, and not the node.
            self._files.disk_error = None
            problem = str(error)
            self._loop.post(lambda: done(problem))
        except PowerCutError:
            self._power_failed()
        else:
            again()
