"""A long run of faults in a mixed quorum: its leader and its followers fail in turn, with every kind of fault."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

from raft.types import NodeId
from tests.java.mixed_quorum import FETCH_TIMEOUT_S, NETWORK_FAULTS, Fault, Kind, Leadership, MixedQuorum
from tests.java.workload import Workload

LEADER_CHANGES = 20

_FAULT_S = 1.3 * FETCH_TIMEOUT_S
"""Longer than the fetch timeout, after which a voter without contact from its leader starts a pre-vote."""

_WORK_S = 0.2
_MAX_ROUNDS = 100
_MAX_CHANCE_ELECTIONS = 3
"""How often a leader may change because the machine is busy. A fault that always changes it exceeds this soon."""

_OUTBOUND_FAULTS = (Fault.ISOLATED, Fault.OUTBOUND_CUT, Fault.CONNECTIONS_RESET)
_STARTS_PRE_VOTE = {Kind.JAVA: "Completed transition to ProspectiveState", Kind.OURS: "Follower -> Prospective"}


class FaultRun:
    """Injects faults into one node after the other, and checks that the quorum continues.

    Args:
        quorum: all its nodes run.

    Attributes:
        workload: the appends during the run.
        leaderships: every leader that all nodes without a fault have followed.
        rejected_pre_votes: how often voters of a kind started a pre-vote while they were partitioned, and found the
            same leader at the same epoch when they returned.
        chance_elections: leaders that were elected when the one before had no fault, and during what.
    """

    def __init__(self, quorum: MixedQuorum) -> None:
        self._quorum = quorum
        self.workload = Workload(quorum)
        self._faults_of_followers = {kind: list(Fault) for kind in Kind if self._tests_us(kind)}
        self.leaderships: list[Leadership] = []
        self.rejected_pre_votes: Counter[Kind] = Counter()
        self.chance_elections: list[tuple[str, Leadership]] = []

    def _tests_us(self, kind: Kind) -> bool:
        """Return whether a follower of this kind is ours or may follow a leader of ours. How Kafka's nodes follow their
        own leaders is not tested.
        """
        quorum = self._quorum
        return bool(quorum.of_kind(kind)) and Kind.OURS in {kind, *quorum.kinds_of_voters}

    @property
    def kinds_that_led(self) -> set[Kind]:
        """The kinds of all leaders."""
        return {self._quorum.kinds[leadership.leader_id] for leadership in self.leaderships}

    def run(self) -> None:
        """Inject faults until there were enough changes of leaders, every kind of voter has led, and followers of every
        tested kind have failed in every way.

        Raises:
            AssertionError: a node ended by itself, no leader was found, nothing was committed, or nodes that returned
                made the others change their leader.
        """
        self.leaderships.append(self._quorum.wait_for_leader())
        self._work(_WORK_S)
        for _, fault in zip(range(_MAX_ROUNDS), cycle(Fault), strict=False):
            self._fail_leader(fault)
            for kind, faults in self._faults_of_followers.items():
                follower_id = self._follower_to_fail(kind)
                if follower_id is not None and faults and self._fail_follower(follower_id, faults[0]):
                    faults.pop(0)
            if self._is_complete():
                return
        raise AssertionError(
            f"after {_MAX_ROUNDS} rounds there were {self.leaderships}; not done yet: {self._faults_of_followers}"
        )

    def _is_complete(self) -> bool:
        has_enough = len(self.leaderships) > LEADER_CHANGES and self.kinds_that_led == self._quorum.kinds_of_voters
        return has_enough and not any(self._faults_of_followers.values())

    def _fail_leader(self, fault: Fault) -> None:
        """Wait until the others elect another leader, whom the failed one follows when it returns."""
        quorum, before = self._quorum, self.leaderships[-1]
        quorum.inject(before.leader_id, fault)
        if fault in _OUTBOUND_FAULTS:
            self.workload.append_uncommitted(before.leader_id)
        self.leaderships.append(quorum.wait_for_leader(after=before.epoch))
        self._work(_WORK_S)
        quorum.end_fault()
        self._has_same_leader(f"leader {before.leader_id} returned ({fault.name})")

    def _follower_to_fail(self, kind: Kind) -> NodeId | None:
        leader_id = self.leaderships[-1].leader_id
        followers = [node_id for node_id in self._quorum.of_kind(kind) if node_id != leader_id]
        return followers[0] if followers and Kind.OURS in (kind, self._quorum.kinds[leader_id]) else None

    def _fail_follower(self, follower_id: NodeId, fault: Fault) -> bool:
        """Return whether the others kept their leader when the follower returned: it cannot raise their epoch
        (SCENARIO-1). They do not when the leader was lost by chance.
        """
        quorum, kind, node = self._quorum, self._quorum.kinds[follower_id], self._quorum.nodes[follower_id]
        pre_votes = node.last_output.count(_STARTS_PRE_VOTE[kind])
        quorum.inject(follower_id, fault)
        # The start of a killed node takes long enough.
        self._work(_WORK_S if fault is Fault.KILLED else _FAULT_S)
        quorum.end_fault()
        if not self._has_same_leader(f"follower {follower_id} returned ({fault.name})"):
            return False
        if fault in NETWORK_FAULTS and follower_id in quorum.voters:
            assert node.last_output.count(_STARTS_PRE_VOTE[kind]) > pre_votes, f"{node.name} did not start a pre-vote"
            self.rejected_pre_votes[kind] += 1
        return True

    def _work(self, duration_s: float) -> None:
        self.workload.run(self.leaderships[-1].leader_id, duration_s)

    def _has_same_leader(self, when: str) -> bool:
        leadership = self._quorum.wait_for_leader()
        if leadership == self.leaderships[-1]:
            return True
        self.chance_elections.append((when, leadership))
        self.leaderships.append(leadership)
        assert len(self.chance_elections) <= _MAX_CHANCE_ELECTIONS, (
            f"leaders change without a fault: {self.chance_elections}"
        )
        return False
