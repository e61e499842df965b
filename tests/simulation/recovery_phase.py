"""The end of each run: faults have stopped, and the quorum has to find its way back, in time, and stay there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from raft.core.roles import Follower
from raft.types import Epoch
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.dice import Dice
from tests.simulation.machine import Machine
from tests.simulation.world import World

_ROUNDS = 6
"""Attempts at an election within which there must be a leader, and everything be done that was begun."""

_LONGEST_DISK_MS = 5_000
"""On top of that: the longest flush that may be under way, and the longest farewell."""

_LOOK_EVERY_MS = 25

_MOST_TURNS = 12


class RecoveryPhase:
    """Waits for what has to come true.

    Attributes:
        most_percent: how much of the time allowed was needed, at most.
    """

    def __init__(self, world: World) -> None:
        self.most_percent = 0
        self._world = world
        self._dice = Dice(world.plan.seed, "rest")

    def run(self) -> None:
        """Let the quorum recover without a minority of its voters, then with everybody, and outlive a last power cut.

        Raises:
            BrokenInvariantError: it does not.
        """
        world = self._world
        world.calm_down()
        # What was lost before is missed only when it is overdue, and may cost a leader then: an echo of the faults.
        world.timeline.run(world.timeline.now_ms + world.plan.timeouts.round_ms)
        absent = self._draw_absent()
        if absent:
            self._do_without(absent)
        world.keep_down(frozenset())
        leader = self._settle(world.machines)
        self._stay(leader)
        self._refuse_a_follower(leader)
        self._stay(leader)
        self._do_without_followers(leader)
        self._forget_writers()
        self._outlive_power_cut()

    def _draw_absent(self) -> list[Machine]:
        voters = [machine for machine in self._world.machines if machine.is_voter]
        return self._dice.some(voters, self._dice.draw((len(voters) + 1) // 2))

    def _do_without(self, absent: Sequence[Machine]) -> None:
        """A minority is down or cut off, and then comes back."""
        world = self._world
        present = [machine for machine in world.machines if machine not in absent]
        away, others = [[machine.node_id for machine in group] for group in (absent, present)]
        is_down = self._dice.draw(2) == 0
        world.story.tell("world", "goes on without %s, %s", away, "down" if is_down else "cut off")
        world.keep_down(frozenset(away if is_down else []))
        cut = world.network.cut([*product(away, others), *product(others, away)])
        leader = self._settle(present)
        epoch = leader.core.epoch
        is_behind = all(_epoch_of(machine) <= epoch for machine in absent)
        world.story.tell("world", "has everybody back")
        world.network.mend(cut)
        world.keep_down(frozenset())
        now_leading = self._settle(world.machines)
        if is_behind:
            # Whoever was away comes back without disturbing anybody: this is what pre-votes are for.
            self._require_same(leader, epoch, now_leading)

    def _settle(self, present: Sequence[Machine]) -> Machine:
        """Wait until all is well among those present; return their leader."""
        timeline = self._world.timeline
        began_ms = timeline.now_ms
        allowed_ms = _ROUNDS * self._world.plan.timeouts.round_ms + _LONGEST_DISK_MS
        while trouble := self._trouble(present):
            if timeline.now_ms - began_ms > allowed_ms:
                raise BrokenInvariantError(
                    "QuorumRecovers", ("TEST-13",), f"after {allowed_ms} ms without faults {trouble}"
                )
            timeline.run(timeline.now_ms + _LOOK_EVERY_MS)
        self.most_percent = max(self.most_percent, (timeline.now_ms - began_ms) * 100 // allowed_ms)
        return next(machine for machine in present if machine.is_leader)

    def _stay(self, leader: Machine) -> None:
        """Nothing happens, so nothing changes."""
        epoch, timeline = leader.core.epoch, self._world.timeline
        timeline.run(timeline.now_ms + self._world.plan.timeouts.round_ms)
        self._require_same(leader, epoch, self._settle(self._world.machines))

    def _do_without_followers(self, leader: Machine) -> None:
        """A minority loses its leader out of sight, though not always each other, and finds it again, once or again and
        again; nobody minds.

        Nothing is written meanwhile: only that a leader lives keeps the others from voting for somebody as good.
        """
        world, dice, timeouts = self._world, self._dice, self._world.plan.timeouts
        followers = [machine.node_id for machine in world.machines if machine.is_voter and machine is not leader]
        away = dice.some(followers, len(followers) // 2)
        hidden = [leader.node_id] if dice.draw(2) else [m.node_id for m in world.machines if m.node_id not in away]
        epoch = leader.core.epoch
        turns = dice.pick((1, 1, _MOST_TURNS))
        world.story.tell("network", "hides %s from %s, %s times", hidden, away, turns)
        for _ in range(turns):
            cut = world.network.cut([*product(away, hidden), *product(hidden, away)])
            world.timeline.run(world.timeline.now_ms + 2 * timeouts.round_ms // turns)
            world.network.mend(cut)
            world.timeline.run(world.timeline.now_ms + dice.draw(timeouts.fetch_ms) // turns)
        self._require_same(leader, epoch, self._settle(world.machines))

    def _refuse_a_follower(self, leader: Machine) -> None:
        """A firewall refuses one follower's connections to the leader, which the other voters still hear."""
        world = self._world
        followers = [machine for machine in world.machines if machine.is_voter and machine is not leader]
        if len(followers) < 2:
            return  # without its only follower a leader has no majority
        refused, epoch = Dice(world.plan.seed, "refused follower").pick(followers), leader.core.epoch
        world.story.tell("network", "refuses the connections of %s to %s", refused, leader)
        world.post_office.refuse(refused.node_id, leader.node_id)
        world.timeline.run(world.timeline.now_ms + world.plan.timeouts.round_ms)
        world.post_office.admit(refused.node_id, leader.node_id)
        self._require_same(leader, epoch, self._settle(world.machines))

    def _require_same(self, leader: Machine, epoch: Epoch, now_leading: Machine) -> None:
        if (now_leading, now_leading.core.epoch) != (leader, epoch):
            detail = f"{leader} led epoch {epoch}, now {now_leading} leads {now_leading.core.epoch}, for no reason"
            raise BrokenInvariantError("LeadershipIsStable", ("TEST-11",), detail)

    def _forget_writers(self) -> None:
        """All nodes forget all writers but the last at the same record, or none where they keep the newest."""
        world = self._world
        before = len(world.machines[0].core.writers_image().histories)
        wanted = before + 1 if world.plan.clients.newest_kept else 1
        world.let_a_month_pass()
        self._settle(world.machines)
        for machine in world.machines:
            remembered = machine.core.writers_image().histories
            if len(remembered) != wanted:
                detail = f"{machine} remembers {len(remembered)} writers, of {before} from a month ago and a new one"
                raise BrokenInvariantError("WritersExpire", ("CLIENT-13",), detail)

    def _outlive_power_cut(self) -> None:
        """Cut the power of all machines and look at what is on their disks: everything that was committed."""
        world = self._world
        committed_end = world.committed.end_offset
        for machine in world.machines:
            machine.cut_power()
        for machine in world.machines:
            machine.start()
            if machine.log.chain_at(committed_end) != world.committed.model.chain:
                detail = f"{machine} has not all of {committed_end} committed offsets after a power cut"
                raise BrokenInvariantError("CommittedNeverChanges", ("TEST-8",), detail)

    def _trouble(self, present: Sequence[Machine]) -> str | None:
        """What is not well yet."""
        down = [str(machine) for machine in present if machine.process is None]
        if down:
            return f"{down} are down"
        leaders = [machine for machine in present if machine.is_leader]
        if len(leaders) != 1:
            return f"leaders are {[*map(str, leaders)]}"
        return (
            self._trouble_with_followers(leaders[0], present) or self._trouble_with_logs(present) or self._open_ends()
        )

    def _trouble_with_followers(self, leader: Machine, present: Sequence[Machine]) -> str | None:
        for machine in present:
            role = machine.core.role
            follows = isinstance(role, Follower) and (role.epoch, role.leader_id) == (leader.core.epoch, leader.node_id)
            if machine is not leader and not follows:
                return f"{machine} is {role}, while {leader} leads epoch {leader.core.epoch}"
        return None

    def _trouble_with_logs(self, present: Sequence[Machine]) -> str | None:
        committed = self._world.committed
        for machine in present:
            log, known = machine.log, machine.core.high_watermark
            if log.chain != committed.model.chain or known != log.end_offset:
                return f"{machine} has {log.end_offset}, knows {known} committed, which are {committed.end_offset}"
            if machine.written.durable_end != log.end_offset:
                return f"{machine} has {log.end_offset}, durable is {machine.written.durable_end}"
        return None

    def _open_ends(self) -> str | None:
        unsettled = [writer.name for writer in self._world.writers if writer.has_unsettled]
        if unsettled:
            return f"writes of {unsettled} are not settled"
        behind = [reader.name for reader in self._world.readers if reader.end_offset < self._world.committed.end_offset]
        return f"{behind} have not read everything" if behind else None


def _epoch_of(machine: Machine) -> Epoch:
    return machine.stored.epoch if machine.process is None else machine.core.epoch
