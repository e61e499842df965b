"""The two disk threads of a node in virtual time, as in `raft.node.disk_threads`.

The thread of jobs may be late, and does reads for clients later still. The event loop runs beside it: sometimes it puts
jobs when the thread has done the last urgent one, and before the thread takes a job that can wait.

A flush takes some time, covers all that is written when it ends, and is reported later: by then the log may have been
truncated and written again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from raft.core.effects import FlushLog
from raft.errors import StorageError
from raft.runtime.disk import DiskListener
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue
from raft.runtime.scheduler import Action
from tests.memory_files.files import PowerCutError
from tests.simulation.broken import ProcessEndedError
from tests.simulation.dice import Dice
from tests.simulation.event_loop import EventLoop
from tests.simulation.interleaved_jobs import InterleavedJobs
from tests.simulation.log_on_disk import LogOnDisk
from tests.simulation.marks import Mark, Marks
from tests.simulation.plan import DiskPlan
from tests.simulation.timeline import Rank, Timeline
from tests.simulation.watched_directory import WatchedDirectory

_MS_PER_S = 1000
_LATE_REPORT_MS = (0, 4000)
_HELD_BACK = 5


class _Reports:
    """The reports of one thread to the event loop: in their order, each with a delay."""

    def __init__(self, loop: EventLoop, timeline: Timeline) -> None:
        self._loop = loop
        self._timeline = timeline
        self._last_ms = 0
        self._under_way = 0

    def post(self, action: Action, delay_ms: int) -> None:
        self._last_ms = max(self._last_ms, self._timeline.now_ms + delay_ms)
        if self._last_ms == self._timeline.now_ms and not self._under_way:
            self._loop.post(action)
            return
        self._under_way += 1
        self._timeline.at(self._last_ms, lambda: self._arrive(action), Rank.DISK)

    def delay(self, delay_ms: int) -> None:
        """Let all later reports come after this time."""
        self._last_ms = max(self._last_ms, self._timeline.now_ms + delay_ms)

    def _arrive(self, action: Action) -> None:
        self._under_way -= 1
        self._loop.post(action)


@dataclass(frozen=True, slots=True)
class _Done:
    """A finished flush, and how many truncations of the log came before it."""

    order: FlushLog
    truncations: int


class SimulatedDiskWorkers:
    """The disk threads of one process; see `raft.runtime.disk.DiskWorkers`.

    Args:
        directory: the directory of the node.
        written: the log on its disk.
        loop: the event loop that gets the results.
        timeline: the true time.
        dice: draws delays.
        plan: the speed of the disk.
        marks: the coverage marks.
        power_failed: called when a planned power cut has come; the workers do nothing after it.
    """

    log_lock = nullcontext()

    def __init__(
        self,
        directory: WatchedDirectory,
        written: LogOnDisk,
        loop: EventLoop,
        *,
        timeline: Timeline,
        dice: Dice,
        plan: DiskPlan,
        marks: Marks,
        power_failed: Callable[[], None],
    ) -> None:
        self._directory = directory
        self._written = written
        self._loop = loop
        self._timeline = timeline
        self._dice = dice
        self._plan = plan
        self._marks = marks
        self._power_failed = power_failed
        self._held_back: deque[_Done] = deque(maxlen=_HELD_BACK)
        self._is_late = False
        self._is_working = False
        self._has_more = False
        self._is_waiting_planned = False
        self._is_flushing = False
        self._holds_flushes = False
        self._is_checkpoint_planned = False
        self._has_failed = False
        self._is_over = False
        self._results = _Reports(loop, timeline)
        self._flushes = _Reports(loop, timeline)

    def start(self, jobs: JobQueue, flusher: Flusher, listener: DiskListener) -> None:
        """See `DiskWorkers.start`."""
        assert isinstance(jobs, InterleavedJobs), "the jobs of a simulated disk"
        self._jobs, self._flusher, self._listener = jobs, flusher, listener

    def stop(self) -> None:
        """See `DiskWorkers.stop`."""
        self._jobs.put_kept()
        self._do(self._jobs.do_urgent)
        self.end()

    def end(self) -> None:
        """Drop all work that is not done; the process has ended."""
        self._is_over = True

    def set_plan(self, plan: DiskPlan) -> None:
        """Change the speed of the disk."""
        self._plan = plan

    def hold_flushes(self) -> None:
        """Hold back all flushes until `release_flushes`."""
        self._holds_flushes = True

    def release_flushes(self) -> None:
        """Do the flushes that were held back, and all later ones."""
        self._holds_flushes = False
        self.flush_waits()

    @property
    def has_held_flushes(self) -> bool:
        """Whether a flush waits because of `hold_flushes`."""
        return self._holds_flushes and self._flusher.has_orders

    @property
    def holds_flushes(self) -> bool:
        """Whether flushes wait because of `hold_flushes`."""
        return self._holds_flushes

    def post(self, action: Action) -> None:
        """See `DiskWorkers.post`."""
        self._results.post(action, self._dice.between(self._plan.report_ms))

    # The thread of jobs

    def snapshot_checked(self) -> None:
        """Let the check of a snapshot take some time, with all jobs behind it."""
        self._results.delay(self._dice.between(self._plan.check_ms))

    def job_waits(self) -> None:
        """See `DiskWorkers.job_waits`."""
        if self._is_late:
            return
        if self._is_working:
            # The event loop runs beside the thread: it has put a job while others are done, and this one comes after.
            self._has_more = True
            return
        if self._jobs.keeps_apart:
            self._is_late = True
            self._timeline.after(0, self._catch_up, Rank.DISK)
        elif self._dice.chance(self._plan.lag_percent):
            self._is_late = True
            self._timeline.after(self._dice.between(self._plan.lag_ms), self._catch_up, Rank.DISK)
        else:
            self._work(self._jobs.do_urgent)
        if self._is_over:
            raise ProcessEndedError

    def _catch_up(self) -> None:
        self._is_late = False
        self._work(self._jobs.do_interleaved if self._jobs.keeps_apart else self._jobs.do_urgent)

    def _work(self, do: Callable[[], object]) -> None:
        self._do_jobs(do)
        if self._jobs.has_later:
            if not self._is_waiting_planned:
                self._is_waiting_planned = True
                self._timeline.after(self._dice.between(self._plan.read_ms), self._do_waiting, Rank.DISK)
        elif self._dice.chance(self._plan.beside_percent):
            self._jobs.keep_apart()

    def _do_waiting(self) -> None:
        self._is_waiting_planned = False
        self._do_jobs(self._jobs.do_waiting)
        if not (self._is_over or self._has_failed) and self._jobs.has_later:
            self._work(self._jobs.do_urgent)

    def _do_jobs(self, do: Callable[[], object]) -> None:
        """Do jobs, and then those that were put meanwhile."""
        self._is_working = True
        try:
            self._do(do)
            while self._has_more:
                self._has_more = False
                self._do(self._jobs.do_urgent)
        finally:
            self._is_working = False

    def _do(self, work: Callable[[], object]) -> None:
        if self._is_over or self._has_failed:
            return
        try:
            work()
        except PowerCutError:
            self._power_failed()
        except StorageError as error:
            self._has_failed = True
            self._results.post(partial(self._listener.failed, error), 0)

    # The thread of flushes

    def flush_waits(self) -> None:
        """See `DiskWorkers.flush_waits`."""
        if self._is_flushing or self._holds_flushes or self._is_over or not self._flusher.has_orders:
            return
        self._is_flushing = True
        plan = self._plan
        is_slow = self._dice.chance(plan.slow_percent)
        self._marks.count(Mark.SLOW_FLUSH, is_slow)
        self._timeline.after(self._dice.between(plan.slow_ms if is_slow else plan.flush_ms), self._flush, Rank.DISK)

    def release_held_back(self) -> None:
        """Report old flushes after an append, if the log was truncated since: the core must not count them."""
        if self._held_back and self._held_back[-1].truncations != self._directory.truncations:
            for done in self._held_back:
                self._report_later(done, 0)
            self._held_back.clear()

    def _flush(self) -> None:
        self._is_flushing = False
        truncations = self._directory.truncations
        done: list[_Done] = []
        self._do(lambda: done.extend(_Done(order, truncations) for order in self._flusher.flush()))
        if done:
            self._report_soon(done)
            self._checkpoint_soon()
            self.flush_waits()

    def _report_soon(self, done: Sequence[_Done]) -> None:
        """Report the newest of these flushes, which covers the others. The product's thread reports no other, but the
        core has to accept late reports, so some of the others are reported later.
        """
        *older, newest = done
        self._flushes.post(partial(self._report, newest), self._dice.between(self._plan.report_ms))
        for other in older:
            self._marks.count(Mark.SHARED_FLUSH)
            if self._dice.draw(4) == 0:
                self._report_later(other, self._dice.between(_LATE_REPORT_MS))
            else:
                self._held_back.append(other)

    def _report_later(self, done: _Done, delay_ms: int) -> None:
        self._timeline.after(delay_ms, lambda: self._loop.post(partial(self._report, done)), Rank.DISK)

    def _report(self, done: _Done) -> None:
        if self._is_over:
            return
        if done.truncations != self._directory.truncations:
            self._marks.count(Mark.VOIDED_FLUSH)
            if self._written.model.end_offset >= done.order.end_offset > self._written.durable_end:
                self._marks.count(Mark.VOIDED_FLUSH_OF_REWRITTEN_OFFSETS)
        self._listener.flushed(done.order)

    def _checkpoint_soon(self) -> None:
        wait_s = self._flusher.checkpoint_wait_s(self._timeline.now_ms / _MS_PER_S)
        if wait_s is not None and not self._is_checkpoint_planned:
            self._is_checkpoint_planned = True
            self._timeline.after(1 + int(wait_s * _MS_PER_S), self._checkpoint, Rank.DISK)

    def _checkpoint(self) -> None:
        self._is_checkpoint_planned = False
        self._do(lambda: self._flusher.write_checkpoints(lambda: self._timeline.now_ms / _MS_PER_S))
        if not (self._is_over or self._has_failed):
            self._checkpoint_soon()
