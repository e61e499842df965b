"""The workers of a disk without threads: jobs and flushes run when the test says so."""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from functools import partial

from raft.errors import StorageError
from raft.runtime.disk import DiskListener
from raft.runtime.flusher import Flusher
from raft.runtime.job_queue import JobQueue
from raft.runtime.scheduler import Action


class InlineWorkers:
    """Runs jobs and flushes on the thread of the test; see `DiskWorkers`."""

    log_lock = nullcontext()

    def __init__(self) -> None:
        self._posted: deque[Action] = deque()
        self._flush_calls = 0
        self._has_failed = False

    def start(self, jobs: JobQueue, flusher: Flusher, listener: DiskListener) -> None:
        """See `DiskWorkers.start`."""
        self._jobs, self._flusher, self._listener = jobs, flusher, listener

    def stop(self) -> None:
        """See `DiskWorkers.stop`."""
        self._jobs.do_urgent()

    def job_waits(self) -> None:
        """See `DiskWorkers.job_waits`."""

    def flush_waits(self) -> None:
        """See `DiskWorkers.flush_waits`."""
        self._flush_calls += 1

    def post(self, action: Action) -> None:
        """See `DiskWorkers.post`."""
        self._posted.append(action)

    def run(self) -> None:
        """Do all jobs and flushes that wait, and what they post, until nothing is left."""
        has_more = True
        while has_more or self._posted:
            has_more = self._do_once()
            while self._posted:
                self._posted.popleft()()

    def _do_once(self) -> bool:
        if self._has_failed:
            return False
        try:
            has_more = self._jobs.do_waiting()
            if self._flush_calls and self._flusher.has_orders:
                self._flush_calls = 0
                self.post(partial(self._listener.flushed, self._flusher.flush()[-1]))
        except StorageError as error:
            self._has_failed = True
            self.post(partial(self._listener.failed, error))
            return False
        return has_more
