"""A long story of faults, told to a mixed quorum: its leader and its followers fail in turn, in every way there is."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

from raft.types import NodeId
from tests.java.mixed_quorum import CUTS, FETCH_TIMEOUT_S, Fault, Kind, MixedQuorum, Reign
from tests.java.workload import Workload

LEADER_CHANGES = 20

_AWAY_S = 1.3 * FETCH_TIMEOUT_S
"""A voter that hears of its leader for so long no more has given it up."""

_AT_WORK_S = 0.2
_MOST_ROUNDS = 100
_MOST_CHANCE_ELECTIONS = 3
"""How often a run may see a leader lost to nothing but a busy machine; a fault that costs a leader every time it is
struck is soon above that.
"""

_NOTHING_GETS_OUT = (Fault.SILENT, Fault.MUTE, Fault.RESET)
_GIVES_UP = {Kind.JAVA: "Completed transition to ProspectiveState", Kind.OURS: "Follower -> Prospective"}


class FaultRun:
    """Strikes one node after the other, and sees to it that the quorum goes on.

    Attributes:
        workload: what is written meanwhile.
        reigns: every leader that all nodes that were well have followed.
        asked_in_vain: how often voters of a kind gave up their leader while they were cut off, asked for pre-votes, and
            came back to find the same leader at the same epoch.
        chance_elections: leaders that came when nobody had struck the one before, and when that was.
    """

    def __init__(self, quorum: MixedQuorum) -> None:
        self._quorum = quorum
        self.workload = Workload(quorum)
        self._faults_of_followers = {kind: list(Fault) for kind in Kind if self._concerns_us(kind)}
        self.reigns: list[Reign] = []
        self.asked_in_vain: Counter[Kind] = Counter()
        self.chance_elections: list[tuple[str, Reign]] = []

    def _concerns_us(self, kind: Kind) -> bool:
        """Whether a follower of this kind fails under a leader of ours, or is ours itself. How Kafka's nodes follow one
        of their own is not our business.
        """
        quorum = self._quorum
        return bool(quorum.of_kind(kind)) and Kind.OURS in {kind, *quorum.kinds_of_voters}

    @property
    def kinds_that_led(self) -> set[Kind]:
        """The kinds of all leaders."""
        return {self._quorum.kinds[reign.leader_id] for reign in self.reigns}

    def go(self) -> None:
        """Go on until there were enough changes of leaders, every kind of voter has led, and followers of every kind
        that concerns us have failed in every way.

        Raises:
            AssertionError: a node ended by itself, no leader was found, nothing was committed, or nodes that came back
                made the others change their leader.
        """
        self.reigns.append(self._quorum.reign())
        self._go_on(_AT_WORK_S)
        for _, fault in zip(range(_MOST_ROUNDS), cycle(Fault), strict=False):
            self._strike_leader(fault)
            for kind, faults in self._faults_of_followers.items():
                follower_id = self._follower_to_strike(kind)
                if follower_id is not None and faults and self._strike_follower(follower_id, faults[0]):
                    faults.pop(0)
            if self._is_complete():
                return
        raise AssertionError(f"after {_MOST_ROUNDS} rounds only {self.reigns}; {self._faults_of_followers} are left")

    def _is_complete(self) -> bool:
        has_enough = len(self.reigns) > LEADER_CHANGES and self.kinds_that_led == self._quorum.kinds_of_voters
        return has_enough and not any(self._faults_of_followers.values())

    def _strike_leader(self, fault: Fault) -> None:
        """The others elect another one, whom the fallen one follows when it comes back."""
        quorum, before = self._quorum, self.reigns[-1]
        quorum.strike(before.leader_id, fault)
        if fault in _NOTHING_GETS_OUT:
            self.workload.go_on_in_vain(before.leader_id)
        self.reigns.append(quorum.reign(after=before.epoch))
        self._go_on(_AT_WORK_S)
        quorum.relieve()
        self._is_unchanged(f"leader {before.leader_id} came back ({fault.name})")

    def _follower_to_strike(self, kind: Kind) -> NodeId | None:
        leader_id = self.reigns[-1].leader_id
        followers = [node_id for node_id in self._quorum.of_kind(kind) if node_id != leader_id]
        return followers[0] if followers and Kind.OURS in (kind, self._quorum.kinds[leader_id]) else None

    def _strike_follower(self, follower_id: NodeId, fault: Fault) -> bool:
        """The others go on, and go on when it is back: it cannot raise their epoch (SCENARIO-1). Return whether this
        was seen; it is not when the leader was lost by chance.
        """
        quorum, kind, server = self._quorum, self._quorum.kinds[follower_id], self._quorum.servers[follower_id]
        given_up = server.log.count(_GIVES_UP[kind])
        quorum.strike(follower_id, fault)
        # Who was killed is away for long enough while it starts.
        self._go_on(_AT_WORK_S if fault is Fault.KILL else _AWAY_S)
        quorum.relieve()
        if not self._is_unchanged(f"follower {follower_id} came back ({fault.name})"):
            return False
        if fault in CUTS and follower_id in quorum.voters:
            assert server.log.count(_GIVES_UP[kind]) > given_up, f"node {follower_id} did not even miss its leader"
            self.asked_in_vain[kind] += 1
        return True

    def _go_on(self, duration_s: float) -> None:
        self.workload.go_on(self.reigns[-1].leader_id, duration_s)

    def _is_unchanged(self, when: str) -> bool:
        reign = self._quorum.reign()
        if reign == self.reigns[-1]:
            return True
        self.chance_elections.append((when, reign))
        self.reigns.append(reign)
        assert len(self.chance_elections) <= _MOST_CHANCE_ELECTIONS, (
            f"leaders change by chance: {self.chance_elections}"
        )
        return False
