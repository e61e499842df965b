"""A queue whose members share processor time: the next one is always the one that has had the least.

This is start-time fair queueing. Each member has a time of its own that advances by the work done for it. The queue's
time is that of the member whose turn it is. A member that begins to wait starts at the queue's time, or at its own if
that is later: so one that was idle has no credit from then, and one that has taken more than its share waits until the
others have had as much.

Source: Goyal, Vin, Cheng, "Start-time Fair Queuing", 1996.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)

_KEPT_MEMBERS = 1_000
"""So many times are kept before those are dropped that have no effect any more."""


class FairQueue(Generic[Member]):
    """Members that wait for their turns. A member waits once, however often it is added."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._finish_s: dict[Member, float] = {}
        self._waiting: dict[Member, int] = {}
        """For each member that waits, the number of its entry in the heap; entries with other numbers are void."""
        self._heap: list[tuple[float, int, Member]] = []
        self._next_number = 0
        self._prune_at = _KEPT_MEMBERS

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, member: Member) -> None:
        """Let a member wait."""
        if member not in self._waiting:
            self._push(member)

    def remove(self, member: Member) -> None:
        """Let a member wait no more."""
        if self._waiting.pop(member, None) is not None and not self._waiting:
            self._heap.clear()

    def rest(self) -> None:
        """Forget what was done for the members; none waits."""
        self._finish_s.clear()

    def forget(self, member: Member) -> None:
        """Let a member wait no more, and do not remember what was done for it."""
        self.remove(member)
        self._finish_s.pop(member, None)

    def take(self) -> Member:
        """Return the member whose turn it is; it waits no more. There must be one."""
        while True:
            start_s, number, member = heapq.heappop(self._heap)
            if self._waiting.get(member) != number:
                continue
            if self._finish_s.get(member, 0.0) > start_s:
                self._push(member)  # Work was done for it while it waited.
                continue
            self._now_s = start_s
            self.remove(member)
            return member

    def charge(self, member: Member, work_s: float) -> None:
        """Count work that was done for a member, in its turn or outside of it.

        Args:
            member: the member.
            work_s: processor time, in seconds.
        """
        self._finish_s[member] = max(self._finish_s.get(member, 0.0), self._now_s) + work_s
        if len(self._finish_s) > self._prune_at:
            self._finish_s = {each: finish_s for each, finish_s in self._finish_s.items() if finish_s > self._now_s}
            self._prune_at = max(_KEPT_MEMBERS, 2 * len(self._finish_s))

    def _push(self, member: Member) -> None:
        start_s = max(self._finish_s.get(member, 0.0), self._now_s)
        self._next_number += 1
        self._waiting[member] = self._next_number
        heapq.heappush(self._heap, (start_s, self._next_number, member))
