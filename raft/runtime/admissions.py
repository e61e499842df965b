"""Where Produce requests are checked: quick ones on the scheduler, the others by a worker.

To read the records of a large batch takes milliseconds, and a small compressed one may become 64 MiB: the event loop,
which answers votes and fetches, does not wait for that. The appends of one connection keep their order all the same: a
request waits for those before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Worker(Protocol):
    """Runs functions apart from the scheduler."""

    def run(self, work: Callable[[], Result], done: Callable[[Callable[[], Result]], None]) -> None:
        """Run a function, then call `done` on the scheduler with a function that returns its result or raises."""
        ...

    def close(self) -> None:
        """Run nothing that waits, and call no `done` any more."""
        ...


@dataclass(frozen=True, slots=True)
class _Admission:
    """One request: how it is checked, what is done with the result on the scheduler, and whether the check is quick."""

    check: Callable[[], Any]
    admitted: Callable[[Any], None]
    is_quick: bool


class Admissions:
    """Checks requests, those of one origin in their order.

    Args:
        worker: runs the checks that are not quick.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: dict[object, deque[_Admission]] = {}

    def admit(
        self, origin: object, check: Callable[[], Result], admitted: Callable[[Result], None], *, is_quick: bool
    ) -> None:
        """Check a request, at once if it is quick and none of its origin is waiting.

        Args:
            origin: the connection it came by.
            check: returns what came of it; the worker runs it if it is not quick.
            admitted: takes that, on the scheduler.
            is_quick: whether the scheduler can wait for it.
        """
        admission = _Admission(check, admitted, is_quick)
        waiting = self._waiting.get(origin)
        if waiting is not None:
            waiting.append(admission)
        elif is_quick:
            admitted(check())
        else:
            self._waiting[origin] = deque()
            self._begin(origin, admission)

    def close(self) -> None:
        """Drop what waits; a check that is under way ends by itself."""
        self._waiting.clear()
        self._worker.close()

    def _begin(self, origin: object, admission: _Admission) -> None:
        self._worker.run(admission.check, partial(self._end, origin, admission))

    def _end(self, origin: object, admission: _Admission, checked: Callable[[], Any]) -> None:
        try:
            admission.admitted(checked())
        finally:
            self._go_on(origin)

    def _go_on(self, origin: object) -> None:
        """Check what waits of an origin, up to the next request that is not quick."""
        waiting = self._waiting[origin]
        while waiting:
            following = waiting.popleft()
            if not following.is_quick:
                self._begin(origin, following)
                return
            following.admitted(following.check())
        del self._waiting[origin]
