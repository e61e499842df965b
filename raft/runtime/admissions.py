"""The check of Produce requests before they are appended: quick checks run on the scheduler, the others on a worker.

Reading the records of a large batch takes milliseconds, and a small compressed batch may decompress to 64 MiB. The
event loop, which responds to votes and fetches, does not wait for that. The appends of one connection keep their order:
each request waits for the requests before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Worker(Protocol):
    """Runs functions outside the scheduler."""

    def run(self, work: Callable[[], Result], done: Callable[[Callable[[], Result], float], None]) -> None:
        """Run a function outside the scheduler.

        Args:
            work: the function.
            done: called on the scheduler with a function that returns the result of `work`, or raises its error, and
                with the processor time that it has used, in seconds.
        """
        ...

    def close(self) -> None:
        """Drop the functions that wait, and call no `done` from now on."""
        ...


@dataclass(frozen=True, slots=True)
class _Request:
    """The callbacks of one request; see `Admissions.admit`."""

    check: Callable[[], Any]
    admitted: Callable[[Any], None]
    failed: Callable[[Exception], None]
    charge: Callable[[float], None]


@dataclass(slots=True, eq=False)
class _Admission:
    """One request in the order of its origin.

    Fields:
        request: None after it was admitted or dropped. So its memory is freed, even while the worker refers to this.
        is_quick: whether the scheduler may wait for the check.
    """

    request: _Request | None
    is_quick: bool

    def check(self) -> Any:
        """Return the result of the check; None if the request was dropped. Runs on any thread."""
        request = self.request
        return None if request is None else request.check()

    def charge(self, used_s: float) -> None:
        """Count what the worker has used, unless the request was dropped."""
        if self.request is not None:
            self.request.charge(used_s)

    def finish(self, checked: Callable[[], Any]) -> None:
        """Call `admitted` or `failed`, unless the request was dropped.

        No error is raised further: the requests after this one would never be checked.

        Args:
            checked: returns the result of the check, or raises its error.
        """
        request = self.request
        if request is None:
            return
        try:
            request.admitted(checked())
        except Exception as error:
            request.failed(error)
        finally:
            self.request = None

    def drop(self) -> None:
        """Neither check nor admit the request. A check that has begun is completed, and its result is dropped."""
        self.request = None


class Admissions:
    """Checks requests; those of one origin in order.

    Args:
        worker: runs the checks that are not quick.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: dict[object, deque[_Admission]] = {}

    def admit(
        self,
        origin: object,
        check: Callable[[], Result],
        admitted: Callable[[Result], None],
        *,
        failed: Callable[[Exception], None],
        charge: Callable[[float], None],
        is_quick: bool,
    ) -> Callable[[], None]:
        """Check a request: at once, if the check is quick and no request of the same origin waits.

        Args:
            origin: the connection of the request.
            check: checks the request and returns the result; run by the worker if it is not quick.
            admitted: called with the result, on the scheduler.
            failed: called with the error if `check` or `admitted` raises one, on the scheduler.
            charge: called with the processor time that the worker has used for the check, in seconds.
            is_quick: whether the scheduler may wait for the check.

        Returns:
            A function that drops the request if it was not admitted yet.
        """
        admission = _Admission(_Request(check, admitted, failed, charge), is_quick)
        waiting = self._waiting.get(origin)
        if waiting is not None:
            waiting.append(admission)
        elif is_quick:
            admission.finish(check)
        else:
            self._waiting[origin] = deque()
            self._begin(origin, admission)
        return admission.drop

    def close(self) -> None:
        """Drop the requests that wait. A check that has begun is completed, and its result is dropped."""
        self._waiting.clear()
        self._worker.close()

    def _begin(self, origin: object, admission: _Admission) -> None:
        self._worker.run(admission.check, partial(self._end, origin, admission))

    def _end(self, origin: object, admission: _Admission, checked: Callable[[], Any], used_s: float) -> None:
        admission.charge(used_s)
        admission.finish(checked)
        self._check_next(origin)

    def _check_next(self, origin: object) -> None:
        """Check the requests of an origin that wait, up to the next check that is not quick."""
        waiting = self._waiting[origin]
        while waiting:
            following = waiting.popleft()
            if not following.is_quick:
                self._begin(origin, following)
                return
            following.finish(following.check)
        del self._waiting[origin]
