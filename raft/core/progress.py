"""What a leader knows of the others: how far each has come, and whether it still has a majority."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from raft.core.voter_set import VoterSet
from raft.types import NodeId, Offset, ReplicaKey

OBSERVER_SESSION_MS = 300_000
"""An observer that has not fetched for so long is forgotten (FETCH-16)."""

MAX_OBSERVERS = 1000
"""Most observers remembered; one more takes the place of the one that has been silent for longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaProgress:
    """One replica, as its fetches show it. Times are those of the core's monotonic clock; None: never yet.

    Fields:
        fetch_offset: everything below is on the replica's disk.
        last_caught_up_ms: last time at which it had all the leader had (DESCRIBE-6).
        leader_end_at_last_fetch: the leader's log end when it last fetched.
        has_endorsed: whether it has acknowledged this leader, by an answer or by a fetch (BEGIN-3).
    """

    fetch_offset: Offset | None = None
    last_fetch_ms: int | None = None
    last_caught_up_ms: int | None = None
    leader_end_at_last_fetch: Offset = Offset(0)
    has_endorsed: bool = False

    def after_fetch(self, fetch_offset: Offset, *, leader_end: Offset, now_ms: int) -> ReplicaProgress:
        """The progress after a valid fetch at `fetch_offset`."""
        caught_up_ms = self.last_caught_up_ms
        if fetch_offset >= leader_end:
            caught_up_ms = now_ms
        elif self.last_fetch_ms is not None and fetch_offset >= self.leader_end_at_last_fetch:
            caught_up_ms = self.last_fetch_ms
        return ReplicaProgress(
            fetch_offset=fetch_offset,
            last_fetch_ms=now_ms,
            last_caught_up_ms=caught_up_ms,
            leader_end_at_last_fetch=leader_end,
            has_endorsed=True,
        )


class QuorumProgress:
    """Voters and observers as their fetches show them, and the clocks that hang on them. Lives as long as one reign."""

    __slots__ = (
        "_begin_interval_ms",
        "_check_quorum_ms",
        "_fetched",
        "_leader",
        "begin_deadline_ms",
        "check_quorum_deadline_ms",
        "observers",
        "voters",
    )

    def __init__(
        self, voters: VoterSet, leader: NodeId, *, check_quorum_ms: int, begin_interval_ms: int, now_ms: int
    ) -> None:
        self._leader = leader
        self._check_quorum_ms = check_quorum_ms
        self._begin_interval_ms = begin_interval_ms
        self._fetched: set[NodeId] = set()
        self.voters = {voter: ReplicaProgress() for voter in voters.others(leader)}
        self.observers: OrderedDict[ReplicaKey, ReplicaProgress] = OrderedDict()
        self.begin_deadline_ms = now_ms
        self.check_quorum_deadline_ms = now_ms + check_quorum_ms if self.voters else None

    def voter_fetched(self, voter: NodeId, fetch_offset: Offset, *, leader_end: Offset, now_ms: int) -> None:
        """Count a valid fetch: progress, endorsement, and one voice for check quorum (FETCH-17)."""
        before = self.voters[voter]
        self.voters[voter] = before.after_fetch(fetch_offset, leader_end=leader_end, now_ms=now_ms)
        self._fetched.add(voter)
        majority_without_leader = (len(self.voters) + 1) // 2
        if len(self._fetched) >= majority_without_leader:
            self._fetched.clear()
            self.check_quorum_deadline_ms = now_ms + self._check_quorum_ms

    def voter_endorsed(self, voter: NodeId) -> None:
        """A voter acknowledged this leader."""
        before = self.voters[voter]
        self.voters[voter] = ReplicaProgress(
            fetch_offset=before.fetch_offset,
            last_fetch_ms=before.last_fetch_ms,
            last_caught_up_ms=before.last_caught_up_ms,
            leader_end_at_last_fetch=before.leader_end_at_last_fetch,
            has_endorsed=True,
        )

    def observer_fetched(self, observer: ReplicaKey, fetch_offset: Offset, *, leader_end: Offset, now_ms: int) -> None:
        """Remember an observer, as the last of those that have fetched, and forget one if there are too many."""
        before = self.observers.pop(observer, ReplicaProgress())
        self.observers[observer] = before.after_fetch(fetch_offset, leader_end=leader_end, now_ms=now_ms)
        if len(self.observers) > MAX_OBSERVERS:
            self.observers.popitem(last=False)
        self.forget_silent_observers(now_ms)

    def forget_silent_observers(self, now_ms: int) -> None:
        """Drop observers without a fetch for `OBSERVER_SESSION_MS`. They stand in the order of their last fetches."""
        while (deadline_ms := self.observer_deadline_ms) is not None and deadline_ms <= now_ms:
            self.observers.popitem(last=False)

    @property
    def observer_deadline_ms(self) -> int | None:
        """When the observer that has been silent for longest is to be forgotten."""
        for progress in self.observers.values():
            assert progress.last_fetch_ms is not None, "an observer is known by its fetch"
            return progress.last_fetch_ms + OBSERVER_SESSION_MS
        return None

    def voters_to_remind(self, now_ms: int) -> tuple[NodeId, ...]:
        """Voters that have not fetched within the interval and so may not know their leader (BEGIN-2)."""
        return tuple(
            voter
            for voter, progress in self.voters.items()
            if progress.last_fetch_ms is None or now_ms - progress.last_fetch_ms >= self._begin_interval_ms
        )

    def reminded(self, now_ms: int) -> None:
        """The announcements are out; the next ones are due an interval later."""
        self.begin_deadline_ms = now_ms + self._begin_interval_ms

    def successors(self) -> tuple[NodeId, ...]:
        """The other voters by how far they have come, those not heard of last, ties by id (END-3)."""

        def rank(voter: NodeId) -> tuple[bool, int, NodeId]:
            fetch_offset = self.voters[voter].fetch_offset
            return fetch_offset is None, -(fetch_offset or 0), voter

        return tuple(sorted(self.voters, key=rank))
