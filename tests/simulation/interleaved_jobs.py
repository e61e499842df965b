"""The jobs of a disk in virtual time: some are put while the thread does others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from raft.runtime.job_queue import JobQueue, Passing

Result = TypeVar("Result")


class InterleavedJobs(JobQueue):
    """Puts new jobs between two steps of `do_waiting`: while the thread does the last urgent job that it has found.

    In virtual time a job takes no time, and the event loop would never run between two of them.
    """

    _apart: list[Callable[[], None]] | None = None

    @property
    def keeps_apart(self) -> bool:
        """Whether new jobs are kept apart."""
        return self._apart is not None

    def keep_apart(self) -> None:
        """Keep new jobs apart from now on."""
        self._apart = []

    def put_kept(self) -> None:
        """Put the jobs that were kept apart, in their order."""
        kept, self._apart = self._apart or [], None
        for put in kept:
            put()

    def do_interleaved(self) -> None:
        """Do the jobs that wait; those that were kept apart are put while the last urgent one is done."""
        super().put(self.put_kept, passing=Passing.EVERYTHING)
        self.do_waiting()

    def put(
        self,
        work: Callable[[], Result],
        done: Callable[[Result], None] | None = None,
        *,
        passing: Passing = Passing.NOTHING,
    ) -> None:
        """See `JobQueue.put`."""
        put = super().put
        if self._apart is None:
            put(work, done, passing=passing)
        else:
            self._apart.append(lambda: put(work, done, passing=passing))
            self._wake()

    def put_later(
        self,
        work: Callable[[], Result],
        done: Callable[[Result], None] | None = None,
        *,
        passing: Passing = Passing.EVERYTHING,
    ) -> None:
        """See `JobQueue.put_later`."""
        put_later = super().put_later
        if self._apart is None:
            put_later(work, done, passing=passing)
        else:
            self._apart.append(lambda: put_later(work, done, passing=passing))
            self._wake()
