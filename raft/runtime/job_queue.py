"""The jobs of a disk, and the order in which they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from raft.errors import DiskFullError

Result = TypeVar("Result")


class Passing(Enum):
    """Which jobs that wait for room a job may pass."""

    NOTHING = "none"
    ADDITIONS = "those that only add to the log"
    EVERYTHING = "all"
    IS_ADDITION = "none; it only adds to the log itself, or does not change it"


@dataclass(frozen=True, slots=True)
class _Job(Generic[Result]):
    """A function, the callback for its result, and what it may pass that waits for room."""

    work: Callable[[], Result]
    done: Callable[[Result], None] | None
    passing: Passing


class JobQueue:
    """Does urgent jobs in order, and after them the jobs that can wait, in order.

    An urgent job for which the disk has no room is kept, with all urgent jobs after it, until `retry`. Those that may
    pass it are done meanwhile, and so are the jobs that can wait if they may pass it.

    One thread may put jobs, and another one do them.

    Args:
        post: runs an action on the scheduler. The results of jobs that were done together are posted together.
        failed: called on the scheduler with the error of a callback that has raised.
        wake: called after a job was put, so that `do_waiting` is called soon.
        room: called on the scheduler with the error of each job for which there was no room, and with None when the
            jobs that waited are done.
    """

    def __init__(
        self,
        *,
        post: Callable[[Callable[[], None]], None],
        failed: Callable[[BaseException], None],
        wake: Callable[[], None],
        room: Callable[[DiskFullError | None], None] = lambda _error: None,
    ) -> None:
        self._post = post
        self._failed = failed
        self._wake = wake
        self._room = room
        self._jobs: deque[_Job[object]] = deque()
        self._later: deque[_Job[object]] = deque()
        self._later_without_room: deque[_Job[object]] = deque()
        self._waits_for_room = False
        self._has_waited = False

    @property
    def has_later(self) -> bool:
        """Whether a job that can wait is not done yet."""
        return bool(self._later)

    @property
    def waits_for_room(self) -> bool:
        """Whether an urgent job waits until the disk has room."""
        return self._waits_for_room

    def put(
        self,
        work: Callable[[], Result],
        done: Callable[[Result], None] | None = None,
        *,
        passing: Passing = Passing.NOTHING,
    ) -> None:
        """Queue an urgent job.

        Args:
            work: the job. If it raises DiskFullError, it is called again.
            done: called on the scheduler with its result.
            passing: which earlier jobs that wait for room it may pass.
        """
        self._jobs.append(_Job(work, done, passing))  # type: ignore[arg-type]  # the pair fits together
        self._wake()

    def put_later(
        self,
        work: Callable[[], Result],
        done: Callable[[Result], None] | None = None,
        *,
        passing: Passing = Passing.EVERYTHING,
    ) -> None:
        """Queue a job that can wait: urgent jobs are done first, even if they are queued later.

        Each `do_waiting` does one of these jobs, so that urgent jobs cannot delay them for ever.

        Args:
            work: see `put`.
            done: see `put`.
            passing: which urgent jobs that wait for room it may pass.
        """
        self._later.append(_Job(work, done, passing))  # type: ignore[arg-type]  # the pair fits together
        self._wake()

    def retry(self) -> None:
        """Do the jobs again that wait for room. It may be called by the thread that puts jobs."""
        if self._waits_for_room or self._later_without_room:
            self._waits_for_room = False
            for _ in range(len(self._later_without_room)):
                self._later.append(self._later_without_room.popleft())
            self._wake()

    def do_waiting(self) -> bool:
        """Do all urgent jobs, then one that can wait; return whether more of these are left.

        Raises:
            StorageError: the disk reports an error. The jobs after the failed one are not done.
        """
        # The job that can wait is taken first, so that every urgent job that was put before it is done before it. If it
        # were taken after the urgent jobs, it could be a read of records whose append was put after the last of them.
        later = [self._later.popleft()] if self._later else []
        self.do_urgent()
        if later and self._has_to_wait(later[0]):
            self._later_without_room.extend(later)
        else:
            self._later_without_room.extend(self._do(later))
        return self.has_later

    def _has_to_wait(self, later: _Job[object]) -> bool:
        """Whether an urgent job waits for room that a job which can wait may not pass."""
        if later.passing is Passing.EVERYTHING or not self._waits_for_room:
            return False
        # A copy, because the other thread may put jobs meanwhile.
        return any(job.passing is Passing.NOTHING for job in tuple(self._jobs))

    def do_urgent(self) -> None:
        """Do all urgent jobs, as far as there is room.

        Raises:
            StorageError: the disk reports an error. The jobs after the failed one are not done.
        """
        jobs: Sequence[_Job[object]] = [self._jobs.popleft() for _ in range(len(self._jobs))]
        if not self._waits_for_room:
            jobs = self._do(jobs)
            self._waits_for_room = bool(jobs)
            self._has_waited |= self._waits_for_room
            if self._has_waited and not jobs:
                self._has_waited = False
                self._post(lambda: self._room(None))
        if jobs:
            self._jobs.extendleft(reversed(self._pass(jobs)))

    def _pass(self, jobs: Sequence[_Job[object]]) -> list[_Job[object]]:
        """Do the jobs that may pass others; return the rest."""
        left: list[_Job[object]] = []
        are_additions = True
        for job in jobs:
            passes = job.passing is Passing.EVERYTHING or (job.passing is Passing.ADDITIONS and are_additions)
            left += self._do([job]) if passes else [job]
            are_additions &= passes or job.passing is Passing.IS_ADDITION
        return left

    def _do(self, jobs: Sequence[_Job[object]]) -> Sequence[_Job[object]]:
        """Do jobs up to the first one for which there is no room; return that and those after it."""
        reports: list[tuple[Callable[[object], None], object]] = []
        left: Sequence[_Job[object]] = ()
        for at, job in enumerate(jobs):
            try:
                result = job.work()
            except DiskFullError as error:
                reports.append((lambda _, error=error: self._room(error), None))  # type: ignore[misc]
                left = jobs[at:]
                break
            if job.done is not None:
                reports.append((job.done, result))
        if reports:
            self._post(lambda: self._report(reports))
        return left

    def _report(self, reports: list[tuple[Callable[[object], None], object]]) -> None:
        """Call the callbacks. An error of one must not prevent the calls of the others."""
        for done, result in reports:
            try:
                done(result)
            except Exception as error:
                self._failed(error)
