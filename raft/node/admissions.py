"""Where Produce requests are checked: quick ones on the loop, the others on a thread of their own.

To read the records of a large batch takes milliseconds, and a small compressed one may become 64 MiB: the loop, on
which votes and fetches are answered, does not wait for that. The appends of one connection keep their order all the
same: a request waits for those before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Admission:
    """One request: how it is checked, what is done with the result on the loop, and whether the check is quick."""

    check: Callable[[], Any]
    admitted: Callable[[Any], None]
    is_quick: bool


class Admissions:
    """Checks requests, those of one origin in their order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="admission")
        self._waiting: dict[object, deque[_Admission]] = {}
        self._is_closed = False

    def admit(
        self, origin: object, check: Callable[[], Result], admitted: Callable[[Result], None], *, is_quick: bool
    ) -> None:
        """Check a request, at once if it is quick and none of its origin is waiting.

        Args:
            origin: the connection it came by.
            check: returns what came of it; runs on another thread if it is not quick.
            admitted: takes that, on the loop.
            is_quick: whether the loop can wait for it.
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
        self._is_closed = True
        self._waiting.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _begin(self, origin: object, admission: _Admission) -> None:
        checked = self._loop.run_in_executor(self._thread, admission.check)
        checked.add_done_callback(partial(self._end, origin, admission))

    def _end(self, origin: object, admission: _Admission, checked: asyncio.Future[Any]) -> None:
        if self._is_closed:
            return
        try:
            admission.admitted(checked.result())
        finally:
            self._go_on(origin)

    def _go_on(self, origin: object) -> None:
        """Check what waits of an origin, up to the next that is not quick."""
        waiting = self._waiting[origin]
        while waiting:
            following = waiting.popleft()
            if not following.is_quick:
                self._begin(origin, following)
                return
            following.admitted(following.check())
        del self._waiting[origin]
