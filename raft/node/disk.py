"""The two threads that touch the disk, so that the loop never waits for it.

The *disk thread* does one job after the other: append, cut, read, store. What the core ordered first is on the log
first, and a replica's read sees the log as it was when the core decided on it. Clients' reads run after these jobs, one
at a time: committed records do not change, so they can wait. The *flush thread* flushes the log meanwhile; orders that
come while it is busy share the next flush (group commit).

A refusal of the disk ends the node: what is on the disk after a failed write or flush is anybody's guess, and a
flush that is tried again may report success for bytes that the kernel has dropped (LOG-17).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from raft.errors import StorageError
from raft.node.checkpoint_pace import CheckpointPace
from raft.types import Offset

Result = TypeVar("Result")
Post = Callable[[Callable[[], None]], None]
"""Runs a function on the node's loop, soon; may be called from any thread."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[Result]):
    """What to do on the disk thread, and what to tell the loop of the result."""

    work: Callable[[], Result]
    done: Callable[[Result], None] | None


_WAKE_UP: _Job[object] = _Job(lambda: None, None)


class DiskThread:
    """Does jobs in the order in which they were given; those that can wait, in their own order, after the others.

    Args:
        post: how results get back to the loop; those of jobs that waited together come back together.
        failed: told, on the loop, of the error that ended the thread, or that a result was met with.
    """

    def __init__(self, post: Post, failed: Callable[[BaseException], None]) -> None:
        self._post = post
        self._failed = failed
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._later: deque[_Job[object]] = deque()
        self._thread = threading.Thread(target=self._run, name="disk", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def do(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        """Queue a job; `done` gets its result on the loop."""
        self._jobs.put(_Job(work, done))  # type: ignore[arg-type]  # the pair fits together

    def do_later(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        """Queue a job that can wait: jobs given to `do` run first, even if they are given later.

        One such job runs each time that the jobs given to `do` have been done, so that it does not wait for ever.
        """
        self._later.append(_Job(work, done))  # type: ignore[arg-type]  # the pair fits together
        self._jobs.put(_WAKE_UP)

    def stop(self) -> None:
        """Finish what is queued and cannot wait, then end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._do_waiting_jobs():
                pass
        except BaseException as error:
            self._post(lambda error=error: self._failed(error))  # type: ignore[misc]
            if not isinstance(error, StorageError):
                raise

    def _do_waiting_jobs(self) -> bool:
        jobs, is_last = self._waiting_jobs()
        self._do(jobs)
        if self._later and not is_last:
            self._do([self._later.popleft()])
        return not is_last

    def _do(self, jobs: Sequence[_Job[object]]) -> None:
        results = [(job.done, job.work()) for job in jobs]
        reports = [(done, result) for done, result in results if done is not None]
        if reports:
            self._post(lambda: self._report(reports))

    def _report(self, reports: list[tuple[Callable[[object], None], object]]) -> None:
        """Hand out results, on the loop. One that is not taken must not keep the others from whoever waits for them."""
        for done, result in reports:
            try:
                done(result)
            except Exception as error:
                self._failed(error)

    def _waiting_jobs(self) -> tuple[list[_Job[object]], bool]:
        """Wait for jobs, unless some can be done later; return them, and whether the thread is to end after them."""
        jobs: list[_Job[object]] = []
        if self._later and self._jobs.empty():
            return jobs, False
        while (job := self._jobs.get()) is not None:
            jobs.append(job)
            if self._jobs.empty():
                return jobs, False
        return jobs, True


@dataclass(frozen=True, slots=True)
class FlushOrder:
    """Number of a flush, and the log end it covers."""

    number: int
    end_offset: Offset


class FlushThread:
    """Flushes the log; of the orders that wait, the newest stands for all. Between flushes it writes checkpoints.

    Args:
        flush: brings to disk all that is in the log when it is called.
        write_checkpoints: writes down how much of the log is durable and committed; returns whether that was all of it.
            Never called during a flush or a truncation.
        pace: says when.
        post: how the outcome gets back to the loop.
        flushed: told, on the loop, which order is done.
        failed: told, on the loop, of the error that ended the thread.
    """

    def __init__(
        self,
        flush: Callable[[], object],
        post: Post,
        *,
        write_checkpoints: Callable[[], bool],
        pace: CheckpointPace,
        flushed: Callable[[FlushOrder], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._flush = flush
        self._write_checkpoints = write_checkpoints
        self._pace = pace
        self._post = post
        self._flushed = flushed
        self._failed = failed
        self._orders: SimpleQueue[FlushOrder | None] = SimpleQueue()
        self.at_rest = threading.Lock()
        """Held during a flush and while checkpoints are written: whoever takes it may cut or close the log."""
        self._thread = threading.Thread(target=self._run, name="flush", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def order(self, order: FlushOrder) -> None:
        """Ask for a flush; called on the disk thread, after what it is to cover was written."""
        self._orders.put(order)

    def stop(self) -> None:
        """Finish the flush under way, if any, then end; an order that still waits is dropped."""
        self._orders.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._do_next():
                pass
        except BaseException as error:
            self._post(lambda error=error: self._failed(error))  # type: ignore[misc]
            if not isinstance(error, StorageError):
                raise

    def _do_next(self) -> bool:
        """Flush, or write the checkpoints when they are due; return False when the thread is to end."""
        wait_s = self._pace.wait_s(time.monotonic())
        if wait_s == 0:
            with self.at_rest:
                is_complete = self._write_checkpoints()
            self._pace.wrote(time.monotonic(), is_complete=is_complete)
            return True
        try:
            order = self._next_order(wait_s)
        except Empty:
            return True
        if order is None:
            return False
        with self.at_rest:
            self._flush()
        self._post(lambda: self._flushed(order))
        self._pace.flushed()
        return True

    def _next_order(self, wait_s: float | None) -> FlushOrder | None:
        """Wait for the newest order, or None for the end.

        Raises:
            Empty: none came within this time.
        """
        order = self._orders.get(timeout=wait_s)
        while order is not None and not self._orders.empty():
            order = self._orders.get()
        return order
