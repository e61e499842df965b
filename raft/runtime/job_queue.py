"""The jobs of a disk, and the order in which they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Job(Generic[Result]):
    """A function, and the callback for its result."""

    work: Callable[[], Result]
    done: Callable[[Result], None] | None


class JobQueue:
    """Does urgent jobs in order, and after them the jobs that can wait, in order.

    One thread may put jobs, and another one do them.

    Args:
        post: runs an action on the scheduler. The results of jobs that were done together are posted together.
        failed: called on the scheduler with the error of a callback that has raised.
        wake: called after a job was put, so that `do_waiting` is called soon.
    """

    def __init__(
        self,
        *,
        post: Callable[[Callable[[], None]], None],
        failed: Callable[[BaseException], None],
        wake: Callable[[], None],
    ) -> None:
        self._post = post
        self._failed = failed
        self._wake = wake
        self._jobs: deque[_Job[object]] = deque()
        self._later: deque[_Job[object]] = deque()

    @property
    def has_later(self) -> bool:
        """Whether a job that can wait is not done yet."""
        return bool(self._later)

    def put(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        """Queue an urgent job; `done` is called on the scheduler with its result."""
        self._jobs.append(_Job(work, done))  # type: ignore[arg-type]  # the pair fits together
        self._wake()

    def put_later(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        """Queue a job that can wait: urgent jobs are done first, even if they are queued later.

        Each `do_waiting` does one of these jobs, so that urgent jobs cannot delay them for ever.
        """
        self._later.append(_Job(work, done))  # type: ignore[arg-type]  # the pair fits together
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
        self._do(later)
        return self.has_later

    def do_urgent(self) -> None:
        """Do all urgent jobs.

        Raises:
            StorageError: the disk reports an error. The jobs after the failed one are not done.
        """
        if self._jobs:
            self._do([self._jobs.popleft() for _ in range(len(self._jobs))])

    def _do(self, jobs: Sequence[_Job[object]]) -> None:
        results = [(job.done, job.work()) for job in jobs]
        reports = [(done, result) for done, result in results if done is not None]
        if reports:
            self._post(lambda: self._report(reports))

    def _report(self, reports: list[tuple[Callable[[object], None], object]]) -> None:
        """Call the callbacks. An error of one must not prevent the calls of the others."""
        for done, result in reports:
            try:
                done(result)
            except Exception as error:
                self._failed(error)
