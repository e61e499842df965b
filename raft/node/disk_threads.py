"""The two threads that use the disk, so that the event loop never waits for it.

The *disk thread* does the jobs of a `JobQueue`: append, truncate, read, store. The *flush thread* flushes the log at
the same time, and writes the checkpoints between two flushes.

When a write or a flush fails, the node stops: what is on the disk is undefined, and a second flush may report success
for bytes that the kernel has dropped (LOG-17).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue

from raft.errors import StorageError
from raft.runtime.disk import DiskListener
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue
from raft.runtime.scheduler import Action, Scheduler


class DiskThreads:
    """Does the jobs and flushes of one disk; see `DiskWorkers`.

    Args:
        scheduler: runs the callbacks with the results.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._log_lock = threading.Lock()
        # True tells the thread that work waits, False tells it to end.
        self._job_calls: SimpleQueue[bool] = SimpleQueue()
        self._flush_calls: SimpleQueue[bool] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    @property
    def log_lock(self) -> threading.Lock:
        """See `DiskWorkers.log_lock`."""
        return self._log_lock

    def start(self, jobs: JobQueue, flusher: Flusher, listener: DiskListener) -> None:
        """See `DiskWorkers.start`."""
        for name, work in (("disk", partial(self._do_jobs, jobs)), ("flush", partial(self._flush, flusher, listener))):
            thread = threading.Thread(target=partial(self._run, work, listener), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """See `DiskWorkers.stop`."""
        self._job_calls.put(False)
        self._flush_calls.put(False)
        for thread in self._threads:
            thread.join()

    def job_waits(self) -> None:
        """See `DiskWorkers.job_waits`."""
        self._job_calls.put(True)

    def flush_waits(self) -> None:
        """See `DiskWorkers.flush_waits`."""
        self._flush_calls.put(True)

    def post(self, action: Action) -> None:
        """See `DiskWorkers.post`."""
        self._scheduler.post(action)

    def _run(self, work: Callable[[], None], listener: DiskListener) -> None:
        try:
            work()
        except BaseException as error:
            self.post(partial(listener.failed, error))
            if not isinstance(error, StorageError):
                raise

    def _do_jobs(self, jobs: JobQueue) -> None:
        has_more = False
        while (has_more and self._job_calls.empty()) or _wait_for_work(self._job_calls):
            has_more = jobs.do_waiting()
        jobs.do_urgent()

    def _flush(self, flusher: Flusher, listener: DiskListener) -> None:
        while True:
            wait_s = flusher.checkpoint_wait_s(time.monotonic())
            if wait_s == 0:
                with self._log_lock:
                    flusher.write_checkpoints(time.monotonic)
                continue
            try:
                has_work = _wait_for_work(self._flush_calls, timeout_s=wait_s)
            except Empty:
                continue
            if not has_work:
                return
            if flusher.has_orders:
                with self._log_lock:
                    newest = flusher.flush()[-1]
                self.post(partial(listener.flushed, newest))


def _wait_for_work(calls: SimpleQueue[bool], *, timeout_s: float | None = None) -> bool:
    """Wait for a call, and take the calls after it from the queue as well.

    Args:
        calls: the queue.
        timeout_s: how long to wait, in seconds; None waits without a limit.

    Returns:
        Whether work waits; False if the thread has to end, even if work waits.

    Raises:
        Empty: no call came within this time.
    """
    call = calls.get(timeout=timeout_s)
    while call and not calls.empty():
        call = calls.get()
    return call
