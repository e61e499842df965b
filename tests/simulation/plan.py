"""What a seed decides before anything happens: how large the quorum is, and what it has to endure.

Each number is drawn for itself, so that seeds differ in kind: some have one kind of fault only, some have them all at
once, and some are calm, where nothing but leadership changes by request disturbs the peace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from raft.types import NodeId
from tests.simulation.dice import Dice

Bounds = tuple[int, int]
"""Both ends included."""

NEVER_MS = 0

_CALM_PERCENT = 8
_UNREST_EVENTS = 7_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPlan:
    """The timeouts of all nodes, as in `CoreConfig`."""

    election_ms: int
    fetch_ms: int
    request_ms: int
    backoff_max_ms: int

    @property
    def round_ms(self) -> int:
        """How long one failed attempt at an election may take, from a silent leader to the next attempt."""
        return self.fetch_ms + 2 * self.election_ms + self.request_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """What becomes of messages.

    Fields:
        delay_ms: how long each takes.
        loss_percent: how many never arrive.
        repeat_percent: how many arrive a second time.
        late_percent, late_ms: how many of these second times come much later, and how much.
    """

    delay_ms: Bounds
    loss_percent: int
    repeat_percent: int
    late_percent: int
    late_ms: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPlan:
    """How fast disks are, and how logs lie on them.

    Fields:
        lag_percent, lag_ms: how often the thread that writes is late, and how much.
        flush_ms: how long a flush takes.
        slow_percent, slow_ms: how many flushes take this long instead.
        report_ms: time between the end of a flush and the moment the node hears of it.
        segment_bytes, tail_bytes: see `LogConfig`.
    """

    lag_percent: int
    lag_ms: Bounds
    flush_ms: Bounds
    slow_percent: int
    slow_ms: Bounds
    report_ms: Bounds
    segment_bytes: int
    tail_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """How often which kind of fault strikes: mean times between two, `NEVER_MS` for never."""

    crash_every_ms: int
    blackout_every_ms: int
    partition_every_ms: int
    succession_every_ms: int
    reset_every_ms: int
    stall_every_ms: int
    farewell_every_ms: int
    resign_every_ms: int
    down_ms: Bounds
    partition_ms: Bounds
    stall_ms: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlan:
    """Who uses the quorum.

    Fields:
        producers: idempotent producers, with up to `window` batches under way each.
        keyed_writers: writers of exactly-once keys, with one write under way.
        pause_ms: between two writes of one.
        patience_ms: how long a client waits for an answer before it asks elsewhere.
        timeout_ms: how long a node may hold an append.
    """

    producers: int
    window: int
    keyed_writers: int
    readers: int
    pause_ms: Bounds
    patience_ms: int
    timeout_ms: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run is told.

    Fields:
        fetch_max_bytes: most that a replica asks for.
        unrest_ms: how long faults go on and new writes are made.
        unrest_events: they also end after so many events: a quorum in which nothing goes wrong does much in that time.
    """

    seed: int
    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...]
    fetch_max_bytes: int
    timeouts: TimeoutPlan
    network: NetworkPlan
    disk: DiskPlan
    faults: FaultPlan
    clients: ClientPlan
    unrest_ms: int
    unrest_events: int


CALM_NETWORK = NetworkPlan(delay_ms=(1, 3), loss_percent=0, repeat_percent=0, late_percent=0, late_ms=(0, 0))


def draw_plan(seed: int) -> Plan:
    """Return what this seed decides."""
    dice = Dice(seed, "plan")
    voters = dice.pick((3, 3, 3, 3, 3, 5, 5, 5, 4, 1))
    observers = dice.pick((0, 0, 1, 1, 2))
    timeouts = _draw_timeouts(dice)
    network, faults = _draw_network(dice), _draw_faults(dice, timeouts)
    if dice.chance(_CALM_PERCENT):
        network, faults = CALM_NETWORK, _only_by_request(faults)
    return Plan(
        seed=seed,
        voters=tuple(NodeId(number) for number in range(1, voters + 1)),
        observers=tuple(NodeId(number) for number in range(voters + 1, voters + 1 + observers)),
        fetch_max_bytes=dice.pick((100, 400, 1 << 20)),
        timeouts=timeouts,
        network=network,
        disk=_draw_disk(dice),
        faults=faults,
        clients=_draw_clients(dice),
        unrest_ms=30 * timeouts.election_ms + 12 * timeouts.fetch_ms,
        unrest_events=_UNREST_EVENTS,
    )


def _draw_timeouts(dice: Dice) -> TimeoutPlan:
    election_ms = dice.pick((150, 300, 600, 1000))
    # Followers' fetches may be held for half a second (FETCH_MAX_WAIT_MS): shorter timeouts would keep failing them.
    fetch_ms = dice.pick((800, 1200, 2000))
    return TimeoutPlan(
        election_ms=election_ms,
        fetch_ms=fetch_ms,
        request_ms=dice.pick((700, 1000, 2000)),
        backoff_max_ms=dice.pick((0, election_ms, 1000)),
    )


def _draw_network(dice: Dice) -> NetworkPlan:
    return NetworkPlan(
        delay_ms=dice.pick(((0, 3), (1, 10), (1, 10), (1, 60), (5, 250))),
        loss_percent=dice.pick((0, 0, 1, 5, 20)),
        repeat_percent=dice.pick((0, 2, 10)),
        late_percent=dice.pick((0, 20, 60)),
        late_ms=dice.pick(((100, 1000), (500, 6000))),
    )


def _draw_disk(dice: Dice) -> DiskPlan:
    return DiskPlan(
        lag_percent=dice.pick((0, 0, 5, 20)),
        lag_ms=dice.pick(((1, 5), (1, 100))),
        flush_ms=dice.pick(((0, 2), (1, 15), (5, 100))),
        slow_percent=dice.pick((0, 2, 10)),
        slow_ms=dice.pick(((50, 300), (300, 2000))),
        report_ms=dice.pick(((0, 0), (0, 5), (0, 100))),
        segment_bytes=dice.pick((300, 2_000, 2_000, 1 << 30)),
        tail_bytes=dice.pick((200, 4 << 20)),
    )


def calmed(disk: DiskPlan) -> DiskPlan:
    """Return the same disk on a good day."""
    return replace(disk, lag_percent=0, slow_percent=0, flush_ms=(0, 2), report_ms=(0, 0))


def _draw_faults(dice: Dice, timeouts: TimeoutPlan) -> FaultPlan:
    round_ms = timeouts.round_ms

    def every_ms(*rounds: int) -> int:
        return dice.pick(rounds) * round_ms // 2 or NEVER_MS

    return FaultPlan(
        crash_every_ms=every_ms(0, 1, 2, 4),
        blackout_every_ms=every_ms(0, 0, 6),
        partition_every_ms=every_ms(0, 1, 2, 4),
        succession_every_ms=every_ms(0, 0, 0, 6),
        reset_every_ms=every_ms(0, 1),
        stall_every_ms=every_ms(0, 0, 2, 4),
        farewell_every_ms=every_ms(0, 0, 4),
        resign_every_ms=every_ms(0, 0, 4),
        down_ms=dice.pick(((0, 50), (0, round_ms // 2), (round_ms // 4, round_ms))),
        partition_ms=dice.pick(((10, 200), (100, round_ms), (round_ms // 2, 2 * round_ms))),
        stall_ms=dice.pick(((10, 300), (100, round_ms))),
    )


def _only_by_request(faults: FaultPlan) -> FaultPlan:
    """Leave only what an operator may ask for."""
    return replace(
        faults,
        crash_every_ms=NEVER_MS,
        blackout_every_ms=NEVER_MS,
        partition_every_ms=NEVER_MS,
        succession_every_ms=NEVER_MS,
        reset_every_ms=NEVER_MS,
        stall_every_ms=NEVER_MS,
    )


def _draw_clients(dice: Dice) -> ClientPlan:
    return ClientPlan(
        producers=dice.pick((1, 1, 2, 3)),
        window=dice.pick((1, 2, 5)),
        keyed_writers=dice.pick((1, 1, 2)),
        readers=dice.pick((1, 2)),
        pause_ms=dice.pick(((0, 50), (20, 200), (100, 600))),
        patience_ms=dice.pick((200, 600, 1500)),
        timeout_ms=dice.pick(((100, 1000), (1000, 3000))),
    )
