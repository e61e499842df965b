"""What a run is told before anything happens: how large the quorum is, and what it has to endure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from raft.types import NodeId
from tests.simulation.faults.kinds import Fault

Bounds = tuple[int, int]
"""Both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPlan:
    """The timeouts of all nodes, as in `CoreConfig`, and how exact their timers are.

    Fields:
        fetch_spread_ms: see `CoreConfig`.
        timer_grain_ms: timers go off only at multiples of this.
        linger_ms: how long leaders hold an answer back that says only a higher high watermark.
    """

    election_ms: int
    fetch_ms: int
    fetch_spread_ms: int
    request_ms: int
    backoff_max_ms: int
    timer_grain_ms: int
    linger_ms: int

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
        held_percent: how many are held somewhere for `late_ms`, as by one who reads slowly.
        repeat_percent: how many arrive a second time.
        late_percent, late_ms: how many of these second times come much later, and how much.
        damage_percent: how many responses to fetches arrive with records truncated or changed.
        refused_percent: how often the sender hears of it when no node listens; else there is silence, as from a machine
            without power.
    """

    delay_ms: Bounds
    loss_percent: int
    held_percent: int
    repeat_percent: int
    late_percent: int
    late_ms: Bounds
    damage_percent: int
    refused_percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WirePlan:
    """Who speaks how, and where nodes look for each other.

    Fields:
        old_nodes: those that know only the versions of an older Kafka, until all are upgraded.
        has_dead_address: whether nodes look for their leader at addresses, one of which nobody listens at.
    """

    old_nodes: tuple[NodeId, ...]
    has_dead_address: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPlan:
    """How fast disks are, and how logs lie on them.

    Fields:
        lag_percent, lag_ms: how often the thread that writes is late, and how much.
        flush_ms: how long a flush takes.
        slow_percent, slow_ms: how many flushes take this long instead.
        report_ms: time between the end of a job or a flush and the moment the node hears of it.
        read_ms: how long jobs take that can wait, and the checks of large appends.
        segment_bytes, tail_bytes: see `LogConfig`.
    """

    lag_percent: int
    lag_ms: Bounds
    flush_ms: Bounds
    slow_percent: int
    slow_ms: Bounds
    report_ms: Bounds
    read_ms: Bounds
    segment_bytes: int
    tail_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockPlan:
    """How far the clocks of machines are from each other, and how busy their event loops are.

    Fields:
        ahead_ms: they are ahead of the true time by less than this.
        drift: how many milliseconds they gain in a second; below 0 they lose them.
        busy_percent, busy_ms: how often what happens to a process has to wait a little, and how long: then several
            things come to it together.
    """

    ahead_ms: int
    drift: Bounds
    busy_percent: int
    busy_ms: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """How often each kind of fault strikes, and how long some last.

    Fields:
        every_ms: mean times between two strokes; a kind that is not there never strikes.
        down_ms: how long a machine stays down; None until it is started.
        partition_ms: how long the network stays divided, in all ways in which it can be.
        stall_ms: how long a process stands still, and how far a clock jumps.
    """

    every_ms: Mapping[Fault, int]
    down_ms: Bounds | None
    partition_ms: Bounds
    stall_ms: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlan:
    """Who uses the quorum.

    Fields:
        producers: idempotent producers, with up to `window` batches under way each.
        keyed_writers: writers of exactly-once keys, with one write under way.
        pause_ms: between two writes of one.
        readers: readers as Kafka's consumers are.
        stream_readers: readers as this project's source is.
        patience_ms: how long a client waits for an answer before it asks elsewhere.
        timeout_ms: how long a node may hold an append.
        api_timeout_ms: how long a call of this project's client takes at most, with all its requests.
        retry_ms: pause of this project's client before another request, and of its caller before another call.
        newest_kept: so many writers of each kind the nodes do not forget by time (`WriterExpiry`).
        clocks_leap_at_ms: when the clients' clocks go forward by more time than writers are remembered for; None for
            never.
    """

    producers: int
    window: int
    keyed_writers: int
    readers: int
    stream_readers: int
    pause_ms: Bounds
    patience_ms: int
    timeout_ms: Bounds
    api_timeout_ms: int
    retry_ms: int
    newest_kept: int
    clocks_leap_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run is told.

    Fields:
        fetch_max_bytes: most that a replica asks for.
        queued_bytes: of responses to clients that a node holds in memory.
        unrest_ms: how long faults go on and new writes are made.
        unrest_events: they also end after so many events: a quorum in which nothing goes wrong does much in that time.
    """

    seed: int
    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...]
    fetch_max_bytes: int
    queued_bytes: int
    timeouts: TimeoutPlan
    network: NetworkPlan
    wire: WirePlan
    disk: DiskPlan
    clocks: ClockPlan
    faults: FaultPlan
    clients: ClientPlan
    unrest_ms: int
    unrest_events: int


CALM_NETWORK = NetworkPlan(
    delay_ms=(1, 3),
    loss_percent=0,
    held_percent=0,
    repeat_percent=0,
    late_percent=0,
    late_ms=(0, 0),
    damage_percent=0,
    refused_percent=70,
)


def calmed(disk: DiskPlan) -> DiskPlan:
    """Return the same disk on a good day."""
    return replace(disk, lag_percent=0, slow_percent=0, flush_ms=(0, 2), report_ms=(0, 0), read_ms=(0, 0))
