"""The recovery phase of a run: after the last fault the quorum has to recover in time, and to stay stable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from raft.core.roles import Follower
from raft.types import Epoch
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.dice import Dice
from tests.simulation.flood_check import flood_leader
from tests.simulation.machine import Machine
from tests.simulation.world import World

_ROUNDS = 6
"""The quorum has to recover within the time of so many failed elections, and `_LONGEST_DISK_MS` more."""

_LONGEST_DISK_MS = 5_000
"""The longest flush and the longest shutdown that may be in progress."""

_TRANSACTIONS = 2
"""Producers have the time of so many transactions more: one whose transaction timed out may begin another one."""

_CHECK_EVERY_MS = 25

_MAX_TURNS = 12


class RecoveryPhase:
    """Checks that a world without faults recovers.

    Attributes:
        max_percent: the longest time that the quorum took to recover, in percent of the time allowed.
    """

    def __init__(self, world: World) -> None:
        self.max_percent = 0
        self._world = world
        self._dice = Dice(world.plan.seed, "rest")

    def run(self) -> None:
        """Let the quorum recover without a minority of its voters, then with all of them, and cut all power at the end.

        Raises:
            BrokenInvariantError: the quorum does not recover.
        """
        world = self._world
        world.end_faults()
        # A message that was lost in the fault phase may still expire a timeout, and cost a leader.
        world.timeline.run(world.timeline.now_ms + world.plan.timeouts.round_ms)
        absent = self._draw_minority()
        if absent:
            self._recover_without(absent)
        world.keep_down(frozenset())
        leader = self._wait_until_recovered(world.machines)
        self._check_stability(leader)
        self._check_refused_connections(leader)
        self._check_stability(leader)
        self._check_hidden_leader(leader)
        self._check_flood(leader)
        self._check_writer_expiry()
        self._check_power_cut()

    def _draw_minority(self) -> list[Machine]:
        voters = [machine for machine in self._world.machines if machine.is_voter]
        return self._dice.some(voters, self._dice.draw((len(voters) + 1) // 2))

    def _recover_without(self, absent: Sequence[Machine]) -> None:
        """Recover while a minority is down or cut off, and again with all voters."""
        world = self._world
        present = [machine for machine in world.machines if machine not in absent]
        away, others = [[machine.node_id for machine in group] for group in (absent, present)]
        is_down = self._dice.draw(2) == 0
        world.run_log.add("world", "continues without %s, %s", away, "down" if is_down else "cut off")
        world.keep_down(frozenset(away if is_down else []))
        cut = world.network.cut([*product(away, others), *product(others, away)])
        leader = self._wait_until_recovered(present)
        epoch = leader.core.epoch
        is_behind = all(_epoch_of(machine) <= epoch for machine in absent)
        world.run_log.add("world", "continues with all nodes")
        world.network.mend(cut)
        world.keep_down(frozenset())
        now_leading = self._wait_until_recovered(world.machines)
        if is_behind:
            # Pre-votes keep a voter that comes back from disturbing the leader.
            self._require_same(leader, epoch, now_leading)

    def _wait_until_recovered(self, present: Sequence[Machine]) -> Machine:
        """Wait until the present nodes have recovered; return their leader."""
        timeline = self._world.timeline
        began_ms = timeline.now_ms
        plan = self._world.plan
        allowed_ms = _ROUNDS * plan.timeouts.round_ms + _LONGEST_DISK_MS
        for_transactions_ms = _TRANSACTIONS * plan.clients.transaction_timeout_ms
        while problem := self._problem(present):
            self._restore_what_no_leader_has(present)
            more_ms = for_transactions_ms if self._has_transactions() else 0
            if timeline.now_ms - began_ms > allowed_ms + more_ms:
                raise BrokenInvariantError(
                    "QuorumRecovers", ("TEST-13",), f"after {allowed_ms} ms without faults {problem}"
                )
            timeline.run(timeline.now_ms + _CHECK_EVERY_MS)
        self.max_percent = max(self.max_percent, (timeline.now_ms - began_ms) * 100 // allowed_ms)
        return next(machine for machine in present if machine.is_leader)

    def _check_stability(self, leader: Machine) -> None:
        """Check that leader and epoch do not change while nothing happens."""
        epoch, timeline = leader.core.epoch, self._world.timeline
        timeline.run(timeline.now_ms + self._world.plan.timeouts.round_ms)
        self._require_same(leader, epoch, self._wait_until_recovered(self._world.machines))

    def _check_hidden_leader(self, leader: Machine) -> None:
        """Cut a minority off from the leader, once or several times, and check that the leader stays.

        No client writes meanwhile, so all logs are equal: the other voters refuse pre-votes only because they have
        fetched from the leader.
        """
        world, dice, timeouts = self._world, self._dice, self._world.plan.timeouts
        followers = [machine.node_id for machine in world.machines if machine.is_voter and machine is not leader]
        away = dice.some(followers, len(followers) // 2)
        hidden = [leader.node_id] if dice.draw(2) else [m.node_id for m in world.machines if m.node_id not in away]
        epoch = leader.core.epoch
        turns = dice.pick((1, 1, _MAX_TURNS))
        world.run_log.add("network", "hides %s from %s, %s times", hidden, away, turns)
        for _ in range(turns):
            cut = world.network.cut([*product(away, hidden), *product(hidden, away)])
            world.timeline.run(world.timeline.now_ms + 2 * timeouts.round_ms // turns)
            world.network.mend(cut)
            world.timeline.run(world.timeline.now_ms + dice.draw(timeouts.fetch_ms) // turns)
        self._require_same(leader, epoch, self._wait_until_recovered(world.machines))

    def _check_refused_connections(self, leader: Machine) -> None:
        """Refuse the connections of one follower to the leader, and check that the leader stays."""
        world = self._world
        followers = [machine for machine in world.machines if machine.is_voter and machine is not leader]
        if len(followers) < 2:
            return  # a leader without its only follower has no majority
        refused, epoch = Dice(world.plan.seed, "refused follower").pick(followers), leader.core.epoch
        world.run_log.add("network", "refuses the connections of %s to %s", refused, leader)
        world.post_office.refuse(refused.node_id, leader.node_id)
        world.timeline.run(world.timeline.now_ms + world.plan.timeouts.round_ms)
        world.post_office.accept(refused.node_id, leader.node_id)
        self._require_same(leader, epoch, self._wait_until_recovered(world.machines))

    def _check_flood(self, leader: Machine) -> None:
        """Flood the leader with requests, and check that it stays."""
        epoch = leader.core.epoch
        flood_leader(self._world, leader)
        self._require_same(leader, epoch, self._wait_until_recovered(self._world.machines))

    def _require_same(self, leader: Machine, epoch: Epoch, now_leading: Machine) -> None:
        if (now_leading, now_leading.core.epoch) != (leader, epoch):
            detail = f"{leader} led epoch {epoch}, now {now_leading} leads {now_leading.core.epoch}, for no reason"
            raise BrokenInvariantError("LeadershipIsStable", ("TEST-11",), detail)

    def _check_writer_expiry(self) -> None:
        """Check that all writers but the last expire at the same record, or none where the newest are kept."""
        world = self._world
        before = len(world.machines[0].core.producers_image().writers.histories)
        expected = before + 1 if world.plan.clients.newest_kept else 1
        world.expire_writers()
        self._wait_until_recovered(world.machines)
        for machine in world.machines:
            kept = machine.core.producers_image().writers.histories
            if len(kept) != expected:
                detail = f"{machine} has {len(kept)} writers, expected {expected}: {before} old ones and a new one"
                raise BrokenInvariantError("WritersExpire", ("CLIENT-13",), detail)

    def _check_power_cut(self) -> None:
        """Cut the power of all machines, and check that each disk holds everything that is committed."""
        world = self._world
        committed_end = world.committed.end_offset
        for machine in world.machines:
            machine.cut_power()
        for machine in world.machines:
            machine.start()
            if machine.log.chain_at(committed_end) != world.committed.model.chain:
                detail = f"{machine} lacks some of {committed_end} committed offsets after a power cut"
                raise BrokenInvariantError("CommittedNeverChanges", ("TEST-8",), detail)

    def _problem(self, present: Sequence[Machine]) -> str | None:
        """Return what has not recovered yet; None if all has."""
        down = [str(machine) for machine in present if machine.process is None]
        if down:
            return f"{down} are down"
        leaders = [machine for machine in present if machine.is_leader]
        if len(leaders) != 1:
            return f"leaders are {[*map(str, leaders)]}"
        return (
            self._problem_of_followers(leaders[0], present)
            or self._problem_of_logs(present)
            or self._problem_of_clients()
        )

    def _problem_of_followers(self, leader: Machine, present: Sequence[Machine]) -> str | None:
        for machine in present:
            role = machine.core.role
            follows = isinstance(role, Follower) and (role.epoch, role.leader_id) == (leader.core.epoch, leader.node_id)
            if machine is not leader and not follows:
                return f"{machine} is {role}, while {leader} leads epoch {leader.core.epoch}"
        return None

    def _problem_of_logs(self, present: Sequence[Machine]) -> str | None:
        committed = self._world.committed
        for machine in present:
            log, known = machine.log, machine.core.high_watermark
            if log.chain != committed.model.chain or known != log.end_offset:
                return f"{machine}: log end {log.end_offset}, high watermark {known}, committed {committed.end_offset}"
            damaged = machine.files.damaged_file
            if damaged is not None or machine.core.damage.exists:
                return f"{machine}: {damaged} is damaged, known are {machine.core.damage.ranges}"
            if machine.written.durable_end != log.end_offset:
                return f"{machine}: the log ends at {log.end_offset}, durable is {machine.written.durable_end}"
        return None

    def _problem_of_clients(self) -> str | None:
        if open_transactions := self._open_transactions():
            return f"transactions of {open_transactions} are open"
        unsettled = [writer.name for writer in self._world.writers if writer.has_unsettled]
        if unsettled:
            return f"writes of {unsettled} are not settled"
        behind = [reader.name for reader in self._world.readers if reader.end_offset < self._world.committed.end_offset]
        return f"{behind} have not read everything" if behind else None

    def _restore_what_no_leader_has(self, present: Sequence[Machine]) -> None:
        """Let an operator restore a damaged range that the log of the leader does not have any more (LOG-31)."""
        for machine in present:
            if machine.process is not None and machine.core.damage.sourceless_end:
                machine.files.undo_damage()

    def _has_transactions(self) -> bool:
        """Whether a transaction is open, or a producer has not settled one."""
        return bool(self._open_transactions()) or any(writer.has_unsettled for writer in self._world.writers)

    def _open_transactions(self) -> list[int]:
        """The producer ids of the transactions that are open in the committed log."""
        return [*self._world.committed.history.open]


def _epoch_of(machine: Machine) -> Epoch:
    return machine.stored.epoch if machine.process is None else machine.core.epoch
