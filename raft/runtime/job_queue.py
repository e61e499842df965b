"""The jobs of a disk, and the order in which they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Job(Generic[Result]):
    """What to do, and what to call with the result."""

    work: Callable[[], Result]
    done: Callable[[Result], None] | None


class JobQueue:
    """Does jobs in the order in which they were put; those that can wait, in their own order, after the others.

    Jobs may be put by one thread and done by another one.

    Args:
        post: runs an action on the scheduler. Results of jobs that were done together are posted together.
        failed: called on the scheduler with an error that a `done` has raised.
        wake: called when a job has been put; sees to it that `do_waiting` is called.
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
        """Whether a job that can wait has not been done."""
        return bool(self._later)

    def put(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        """Queue a job; `done` gets its result on the scheduler."""
        self._jobs.append(_Job(work, done))  # type: ignore[arg-type]  # the pair fits together
        self._wake()

    def put_later(self, work: Callable[[], Result], done: Callable[[Result], None] | None = None) -> None:
        """Queue a job that can wait: jobs given to `put` are done first, even if they are put later.

        One such job is done each time that the others have been done, so that it is not put off for ever.
        """
        self._later.append(_Job(work, done))  # type: ignore[arg-type]  # the pair fits together
        self._wake()

    def do_waiting(self) -> bool:
        """Do all jobs that cannot wait, then one that can; return whether more of the latter are waiting.

        Raises:
            StorageError: the disk refuses; the jobs after that are not done.
        """
        self.do_urgent()
        if self._later:
            self._do([self._later.popleft()])
        return bool(self._later)

    def do_urgent(self) -> None:
        """Do all jobs that cannot wait.

        Raises:
            StorageError: the disk refuses; the jobs after that are not done.
        """
        if self._jobs:
            self._do([self._jobs.popleft() for _ in range(len(self._jobs))])

    def _do(self, jobs: Sequence[_Job[object]]) -> None:
        results = [(job.done, job.work()) for job in jobs]
        reports = [(done, result) for done, result in results if done is not None]
        if reports:
            self._post(lambda: self._report(reports))

    def _report(self, reports: list[tuple[Callable[[object], None], object]]) -> None:
        """Hand out results. An error of one `done` must not keep the others from their results."""
        for done, result in reports:
            try:
                done(result)
            except Exception as error:
                self._failed(error)
