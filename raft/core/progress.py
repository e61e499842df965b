"""What a leader knows of the other replicas: how far each has come, and whether a majority still fetches from it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from raft.core.voter_set import VoterSet
from raft.types import NodeId, Offset, ReplicaKey

OBSERVER_SESSION_MS = 300_000
"""An observer that has not fetched for this long is forgotten (FETCH-16)."""

MAX_OBSERVERS = 1000
"""Most observers remembered; a further one replaces the observer that has been silent for longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaProgress:
    """One replica, as its fetches show it. Times are those of the core's monotonic clock; None: never yet.

    Fields:
        fetch_offset: everything below is on the replica's disk.
        last_fetch_ms: when it last fetched.
        last_caught_up_ms: last time at which it had everything that the leader had (DESCRIBE-6).
        leader_end_at_last_fetch: the leader's log end when it last fetched.
        has_room: whether its disk had room for records when it last fetched.
        is_sound: whether its log was not damaged then, as far as it knew.
    """

    fetch_offset: Offset | None = None
    last_fetch_ms: int | None = None
    last_caught_up_ms: int | None = None
    leader_end_at_last_fetch: Offset | None = None
    has_room: bool = True
    is_sound: bool = True

    @property
    def is_fit(self) -> bool:
        """Whether nothing speaks against it as a leader."""
        return self.has_room and self.is_sound

    def after_fetch(
        self, fetch_offset: Offset, *, leader_end: Offset, now_ms: int, has_room: bool = True, is_sound: bool = True
    ) -> ReplicaProgress:
        """Return the progress after a valid fetch at `fetch_offset`."""
        caught_up_ms = self.last_caught_up_ms
        if fetch_offset >= leader_end:
            caught_up_ms = now_ms
        elif self.leader_end_at_last_fetch is not None and fetch_offset >= self.leader_end_at_last_fetch:
            caught_up_ms = self.last_fetch_ms
        return ReplicaProgress(
            fetch_offset=fetch_offset,
            last_fetch_ms=now_ms,
            last_caught_up_ms=caught_up_ms,
            leader_end_at_last_fetch=leader_end,
            has_room=has_room,
            is_sound=is_sound,
        )


class QuorumProgress:
    """Voters and observers as their fetches show them, and the leader's deadlines that depend on them.

    It exists for one term of leadership. Only the core changes it; other code reads it.

    Args:
        voters: the voters of the quorum.
        leader: which of them leads.
        check_quorum_ms: the leader resigns when a majority has not fetched for this long.
        begin_interval_ms: time between two announcements to a voter that does not fetch.
        now_ms: when the leader was elected.
    """

    __slots__ = (
        "_begin_interval_ms",
        "_check_quorum_ms",
        "_confirmed",
        "_fetched",
        "_observers",
        "_voters",
        "begin_deadline_ms",
        "check_quorum_deadline_ms",
    )

    def __init__(
        self, voters: VoterSet, leader: NodeId, *, check_quorum_ms: int, begin_interval_ms: int, now_ms: int
    ) -> None:
        self._check_quorum_ms = check_quorum_ms
        self._begin_interval_ms = begin_interval_ms
        self._fetched: set[NodeId] = set()
        self._confirmed: dict[NodeId, int] = {}  # For each voter, the newest request by which it has confirmed.
        self._voters = {voter: ReplicaProgress() for voter in voters.others(leader)}
        self._observers: OrderedDict[ReplicaKey, ReplicaProgress] = OrderedDict()
        self.begin_deadline_ms = now_ms
        self.check_quorum_deadline_ms = now_ms + check_quorum_ms if self._voters else None

    @property
    def voters(self) -> Mapping[NodeId, ReplicaProgress]:
        """The other voters."""
        return self._voters

    @property
    def observers(self) -> Mapping[ReplicaKey, ReplicaProgress]:
        """The observers that are remembered, in the order of their last fetches."""
        return self._observers

    def active_observers(self, now_ms: int) -> tuple[tuple[ReplicaKey, ReplicaProgress], ...]:
        """Return the observers that have fetched within `OBSERVER_SESSION_MS`, in the order of their last fetches."""
        return tuple(
            (observer, progress)
            for observer, progress in self._observers.items()
            if progress.last_fetch_ms is not None and progress.last_fetch_ms + OBSERVER_SESSION_MS > now_ms
        )

    def voter_fetched(
        self,
        voter: NodeId,
        fetch_offset: Offset,
        *,
        leader_end: Offset,
        now_ms: int,
        has_room: bool = True,
        is_sound: bool = True,
    ) -> None:
        """Count a valid fetch of a voter: as progress, and for check quorum (FETCH-17)."""
        before = self._voters[voter]
        self._voters[voter] = before.after_fetch(
            fetch_offset, leader_end=leader_end, now_ms=now_ms, has_room=has_room, is_sound=is_sound
        )
        self.voter_reached(voter, now_ms)

    def voter_reached(self, voter: NodeId, now_ms: int) -> None:
        """Count a valid fetch of records or of a snapshot for check quorum (FETCH-17, FETCH-18)."""
        self._fetched.add(voter)
        if len(self._fetched) >= self._majority_without_leader:
            self._fetched.clear()
            self.check_quorum_deadline_ms = now_ms + self._check_quorum_ms

    def voter_confirmed(self, voter: NodeId, request: int) -> None:
        """Note that a voter was in the leader's epoch after the request of this number was sent (READ-2)."""
        self._confirmed[voter] = request

    def voters_to_confirm(self, first_request: int) -> tuple[NodeId, ...]:
        """Return the voters that have confirmed the leader by no request from this number on."""
        return tuple(voter for voter in self._voters if self._confirmed.get(voter, -1) < first_request)

    def is_confirmed(self, first_request: int) -> bool:
        """Return whether a majority, the leader included, has confirmed it by requests from this number on."""
        confirmed = len(self._voters) - len(self.voters_to_confirm(first_request))
        return confirmed >= self._majority_without_leader

    @property
    def _majority_without_leader(self) -> int:
        return (len(self._voters) + 1) // 2

    def observer_fetched(self, observer: ReplicaKey, fetch_offset: Offset, *, leader_end: Offset, now_ms: int) -> None:
        """Remember an observer, as the last of those that have fetched, and forget one if there are too many."""
        before = self._observers.pop(observer, ReplicaProgress())
        self._observers[observer] = before.after_fetch(fetch_offset, leader_end=leader_end, now_ms=now_ms)
        if len(self._observers) > MAX_OBSERVERS:
            self._observers.popitem(last=False)

    def forget_silent_observers(self, now_ms: int) -> None:
        """Drop the observers that have not fetched within `OBSERVER_SESSION_MS`; the longest silent come first."""
        while (deadline_ms := self.observer_deadline_ms) is not None and deadline_ms <= now_ms:
            self._observers.popitem(last=False)

    @property
    def observer_deadline_ms(self) -> int | None:
        """When to forget the observer that has been silent for longest; None while there are no observers."""
        for progress in self._observers.values():
            assert progress.last_fetch_ms is not None, "an observer is known by its fetch"
            return progress.last_fetch_ms + OBSERVER_SESSION_MS
        return None

    def voters_to_remind(self, now_ms: int) -> tuple[NodeId, ...]:
        """Return the voters that have not fetched within the interval and so may not know their leader (BEGIN-2)."""
        return tuple(
            voter
            for voter, progress in self._voters.items()
            if progress.last_fetch_ms is None or now_ms - progress.last_fetch_ms >= self._begin_interval_ms
        )

    def reminded(self, now_ms: int) -> None:
        """Note that the announcements were sent; the next ones are due an interval later."""
        self.begin_deadline_ms = now_ms + self._begin_interval_ms

    def successors(self) -> tuple[NodeId, ...]:
        """Return the other voters by how far they have come, ties by id; those without room, with a damaged log, or
        without a fetch come last (END-3).
        """

        def rank(voter: NodeId) -> tuple[bool, bool, int, NodeId]:
            progress = self._voters[voter]
            return progress.fetch_offset is None, not progress.is_fit, -(progress.fetch_offset or 0), voter

        return tuple(sorted(self._voters, key=rank))
