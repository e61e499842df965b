"""The two threads of a node that touch its disk, as `raft.node.disk` has them, in virtual time.

The one that writes does its jobs in the order in which they were given, and may be late. The one that flushes is busy
for a while, brings everything to the platter that is written by then, and the node hears of it later still: by then the
log may have been cut, and written again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from raft.core.effects import FlushLog, ReadRange
from raft.errors import StorageError
from raft.node.checkpoint_pace import CheckpointPace
from raft.storage.directory import ReplicaDirectory
from raft.types import Batch, ElectionState, Offset
from raft.writers import TableImage
from tests.memory_files.files import PowerCutError
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.dice import Dice
from tests.simulation.log_twin import Entry
from tests.simulation.plan import DiskPlan
from tests.simulation.sightings import Sight, Sightings
from tests.simulation.timeline import Timeline
from tests.simulation.written_log import WrittenLog

Result = TypeVar("Result")

_CHECKPOINT_INTERVAL_S = 0.3
_MS_PER_S = 1000
_LATE_ANSWER_MS = (0, 4000)
_HELD_BACK = 5


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A flush that was asked for, and how often the log had been cut before."""

    order: FlushLog
    cuts: int


class DiskThreads:
    """The disk of one life of a machine.

    Args:
        directory: open.
        written: what is in its log.
        flushed: told that a flush is done, some time after it was.
        rolled: told that a segment was begun, some time after it was.
        wrote: told at the very moment at which batches are written.
        looked: told at the very moment at which some have got to the platter.
        checkpointed: told at the very moment at which the checkpoints have.
        power_failed: told that a planned power cut has struck; nothing more happens then.
        refused: told that the disk has refused something; nothing more happens then.
    """

    def __init__(
        self,
        directory: ReplicaDirectory,
        written: WrittenLog,
        *,
        timeline: Timeline,
        dice: Dice,
        plan: DiskPlan,
        sightings: Sightings,
        flushed: Callable[[FlushLog], None],
        rolled: Callable[[], None],
        wrote: Callable[[list[Entry]], None],
        looked: Callable[[], None],
        checkpointed: Callable[[], None],
        power_failed: Callable[[], None],
        refused: Callable[[StorageError], None],
    ) -> None:
        self._directory = directory
        self._written = written
        self._timeline = timeline
        self._dice = dice
        self._plan = plan
        self._sightings = sightings
        self._flushed = flushed
        self._rolled = rolled
        self._wrote = wrote
        self._looked = looked
        self._checkpointed = checkpointed
        self._power_failed = power_failed
        self._refused = refused
        self._jobs: deque[Callable[[], None]] = deque()
        self._orders: deque[_Ordered] = deque()
        self._held_back: deque[_Ordered] = deque(maxlen=_HELD_BACK)
        self._cuts = 0
        self._is_late = False
        self._is_flushing = False
        self._is_over = False
        self._last_report_ms = 0
        self._pace = CheckpointPace(_CHECKPOINT_INTERVAL_S)
        self._is_checkpoint_planned = False

    def store(self, state: ElectionState, done: Callable[[], None]) -> None:
        """Store an election state, then go on."""
        self._do(lambda: self._directory.store_election_state(state), lambda _: done())

    def append(self, batches: tuple[Batch, ...]) -> None:
        """Write batches."""
        self._do(lambda: self._append(batches))

    def truncate(self, end_offset: Offset) -> None:
        """Cut the log."""
        self._do(lambda: self._truncate(end_offset))

    def write_producer_snapshot(self, image: TableImage) -> None:
        """Write the table of writers down."""
        self._sightings.count(Sight.PRODUCER_SNAPSHOT)
        self._do(lambda: self._directory.write_producer_snapshot(image))

    def note_committed(self, offset: Offset) -> None:
        """Let the next checkpoint say that everything below is committed."""
        self._directory.note_committed(offset)

    def read(self, read: ReadRange, done: Callable[[bytes], None]) -> None:
        """Read from the log as it is when everything ordered before is done."""
        log = self._directory.log
        self._do(
            lambda: log.read(read.start_offset, max_bytes=read.max_bytes, end_offset=read.end_offset),
            done,
        )

    def order_flush(self, order: FlushLog) -> None:
        """Flush, some time after everything ordered before is written."""
        self._do(lambda: self._take_order(order))

    def calm_down(self, plan: DiskPlan) -> None:
        """Be another disk from now on."""
        self._plan = plan

    def halt(self) -> None:
        """The process is gone: what has not been done will not be."""
        self._is_over = True
        self._jobs.clear()
        self._orders.clear()

    def close(self) -> None:
        """Do what was ordered, then close the directory, as a node does that leaves."""
        self._work()
        self._is_over = True
        self._directory.close()
        self._written.look()

    # The thread that writes

    def _do(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        def job() -> None:
            result = work()
            if done is not None:
                done(result)

        self._jobs.append(job)
        if self._is_late:
            return
        if self._dice.chance(self._plan.lag_percent):
            self._is_late = True
            self._timeline.after(self._dice.between(self._plan.lag_ms), self._catch_up)
        else:
            self._work()

    def _catch_up(self) -> None:
        self._is_late = False
        self._work()

    def _work(self) -> None:
        try:
            while self._jobs:
                self._jobs.popleft()()
        except PowerCutError:
            self._power_failed()
        except StorageError as error:
            self._refused(error)

    def _append(self, batches: tuple[Batch, ...]) -> None:
        self._wrote([self._written.append(batch) for batch in batches])
        if self._directory.append(batches):
            self._timeline.after(self._dice.between(self._plan.report_ms), self._rolled)
        if self._held_back and self._held_back[-1].cuts != self._cuts:
            # The worst moment: the log was cut, and is written again, and not flushed.
            for ordered in self._held_back:
                self._timeline.after(0, partial(self._report, ordered))
            self._held_back.clear()

    def _truncate(self, end_offset: Offset) -> None:
        self._written.begin_cut(end_offset)
        self._directory.truncate(end_offset)
        self._written.end_cut(end_offset)
        self._cuts += 1

    # The thread that flushes

    def _take_order(self, order: FlushLog) -> None:
        self._orders.append(_Ordered(order, self._cuts))
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._is_flushing or not self._orders:
            return
        self._is_flushing = True
        plan = self._plan
        is_slow = self._dice.chance(plan.slow_percent)
        self._sightings.count(Sight.SLOW_FLUSH, is_slow)
        self._timeline.after(self._dice.between(plan.slow_ms if is_slow else plan.flush_ms), self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if self._is_over:
            return
        orders, self._orders = self._orders, deque()
        try:
            self._flush_log()
        except PowerCutError:
            self._power_failed()
            return
        except StorageError as error:
            self._refused(error)
            return
        self._looked()
        self._report_soon(orders)
        self._checkpoint_soon()
        self._flush_soon()

    def _report_soon(self, orders: Sequence[_Ordered]) -> None:
        """The newest answers for all, in the order of flushes. Those of the others who are answered as well may hear of
        it at any time: our own thread does not do that, but the core is told that it may be done.
        """
        *older, newest = orders
        report_ms = self._timeline.now_ms + self._dice.between(self._plan.report_ms)
        self._last_report_ms = max(self._last_report_ms, report_ms)
        self._timeline.at(self._last_report_ms, lambda: self._report(newest))
        for ordered in older:
            self._sightings.count(Sight.SHARED_FLUSH)
            if self._dice.draw(4) == 0:
                self._timeline.after(self._dice.between(_LATE_ANSWER_MS), partial(self._report, ordered))
            else:
                self._held_back.append(ordered)

    def _flush_log(self) -> None:
        claimed = self._directory.log.flush()
        durable_end = self._written.look()
        if durable_end < claimed:
            raise BrokenInvariantError(
                "FlushTellsTheTruth", ("LOG-6",), f"flush says {claimed}, on the platter is {durable_end}"
            )
        self._pace.flushed()

    def _checkpoint_soon(self) -> None:
        wait_s = self._pace.wait_s(self._timeline.now_ms / _MS_PER_S)
        if wait_s is not None and not self._is_checkpoint_planned:
            self._is_checkpoint_planned = True
            self._timeline.after(1 + int(wait_s * _MS_PER_S), self._checkpoint)

    def _checkpoint(self) -> None:
        self._is_checkpoint_planned = False
        if self._is_over:
            return
        try:
            is_complete = self._directory.write_checkpoints()
        except PowerCutError:
            self._power_failed()
            return
        except StorageError as error:
            self._refused(error)
            return
        self._checkpointed()
        self._pace.wrote(self._timeline.now_ms / _MS_PER_S, is_complete=is_complete)
        self._checkpoint_soon()

    def _report(self, answered: _Ordered) -> None:
        if self._is_over:
            return
        if answered.cuts != self._cuts:
            self._sightings.count(Sight.VOIDED_FLUSH)
            if self._written.twin.end_offset >= answered.order.end_offset > self._written.durable_end:
                self._sightings.count(Sight.VOIDED_FLUSH_OF_OFFSETS_WRITTEN_AGAIN)
        self._flushed(answered.order)
