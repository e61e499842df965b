"""The plan of a run: the size of the quorum, its timeouts, its clients and its faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from raft.types import CleanupPolicy, NodeId
from tests.simulation.faults.kinds import Fault

Bounds = tuple[int, int]
"""The smallest and the largest value, both included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPlan:
    """The timeouts of all nodes, as in `CoreConfig`, and the precision of their timers.

    Fields:
        fetch_spread_ms: see `CoreConfig`.
        timer_grain_ms: timers expire only at multiples of this.
        linger_ms: how long leaders delay a response that carries only a higher high watermark.
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
        """The longest time of one failed election, from the last contact with the leader to the next attempt."""
        return self.fetch_ms + 2 * self.election_ms + self.request_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """What the network does to messages. A message that is lost breaks a connection between nodes.

    Fields:
        delay_ms: the delay of a message.
        loss_percent: how many are lost.
        held_percent: how many are delayed by `late_ms` instead, as by a slow receiver.
        repeat_percent: how many requests arrive twice.
        late_percent, late_ms: how many of the second copies are late, and by how much.
        damage_percent: how many fetch responses arrive with truncated or damaged records.
        refused_percent: how often a connection to a stopped node is refused; otherwise the request gets no response, as
            from a machine without power.
        negotiates: whether a node learns the versions of another one before it sends requests on a new connection.
    """

    delay_ms: Bounds
    loss_percent: int
    held_percent: int
    repeat_percent: int
    late_percent: int
    late_ms: Bounds
    damage_percent: int
    refused_percent: int
    negotiates: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WirePlan:
    """The versions of the nodes, and their bootstrap servers.

    Fields:
        old_nodes: the nodes that support only the versions of an older Kafka, until the recovery phase.
        has_dead_address: whether one of the bootstrap servers is an address at which no node listens.
    """

    old_nodes: tuple[NodeId, ...]
    has_dead_address: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPlan:
    """The speed of the disks, and the sizes of segments and tails.

    Fields:
        lag_percent, lag_ms: how often the thread of jobs is late, and by how much.
        beside_percent: how often the thread of jobs stops between its last urgent job and one that can wait, until the
            event loop has put jobs.
        flush_ms: how long a flush takes.
        slow_percent, slow_ms: how many flushes are slow, and how long they take.
        report_ms: the time from the end of a job or a flush to its report on the event loop.
        read_ms: how long reads for clients and checks of large appends take.
        check_ms: how long the check of a downloaded snapshot takes.
        piece_bytes: size of the pieces in which a read for a client is done.
        segment_bytes, tail_bytes: see `LogConfig`.
    """

    lag_percent: int
    lag_ms: Bounds
    beside_percent: int
    flush_ms: Bounds
    slow_percent: int
    slow_ms: Bounds
    report_ms: Bounds
    read_ms: Bounds
    check_ms: Bounds
    piece_bytes: int
    segment_bytes: int
    tail_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlan:
    """What becomes of old records, as in `NodeConfig`, and how long snapshots take.

    Fields:
        policy: of all nodes.
        bytes_between, interval_ms, retention_bytes: when snapshots are made, and what they replace.
        delete_retention_ms: how long tombstones stay.
        make_ms: how long it takes to make a snapshot.
        fetch_bytes: the size limit in a replica's fetch of a snapshot.
    """

    policy: CleanupPolicy
    bytes_between: int
    interval_ms: int
    retention_bytes: int
    delete_retention_ms: int
    make_ms: Bounds
    fetch_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockPlan:
    """The differences between the clocks of machines, and how busy their event loops are.

    Fields:
        ahead_ms: clocks are ahead of the true time by less than this.
        drift: milliseconds gained per second; negative for a slow clock.
        busy_percent, busy_ms: how often an event loop is busy, and for how long. Actions wait meanwhile, and then run
            together.
        request_us: how long a processor takes for a request, in microseconds.
    """

    ahead_ms: int
    drift: Bounds
    busy_percent: int
    busy_ms: Bounds
    request_us: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """How often each kind of fault strikes, and how long it lasts.

    Fields:
        every_ms: the mean time between two faults of a kind; a kind that is missing never strikes.
        down_ms: how long a machine stays down; None if it stays down until it is started by hand.
        partition_ms: how long faults of the network last.
        stall_ms: how long a process stalls, and how far a clock jumps.
    """

    every_ms: Mapping[Fault, int]
    down_ms: Bounds | None
    partition_ms: Bounds
    stall_ms: Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPlan:
    """The clients of the quorum.

    Fields:
        producers: the number of idempotent producers.
        window: how many batches each of them may have in flight.
        keyed_writers: the number of writers of exactly-once keys, with one write in flight each.
        multipart_writers: the number of writers whose tasks append parts.
        transactional_producers: the number of producers with a transactional id.
        transaction_timeout_ms: longest duration of a transaction, at the nodes and for these producers.
        readers: the number of readers that fetch like Kafka's consumers.
        stream_readers: the number of readers that fetch like this project's source.
        end_readers: the number of readers that only ask where the log ends.
        keys: how many keys the records have.
        has_tombstones: whether some records of producers and keyed writers have no value.
        pause_ms: the pause between two writes of a writer.
        patience_ms: how long a client waits for a response before it goes to another node.
        timeout_ms: the timeout of an append at the node.
        api_timeout_ms: the timeout of a call of this project's client, with all its requests.
        retry_ms: the pause of this project's client before a retry, and of its caller before the next call.
        newest_kept: how many writers of each kind never expire (`WriterExpiry`).
        clocks_jump_at_ms: when the clients' clocks jump ahead by more than the expiration of writers; None for never.
    """

    producers: int
    window: int
    keyed_writers: int
    multipart_writers: int
    transactional_producers: int
    transaction_timeout_ms: int
    readers: int
    stream_readers: int
    end_readers: int
    keys: int
    has_tombstones: bool
    pause_ms: Bounds
    patience_ms: int
    timeout_ms: Bounds
    api_timeout_ms: int
    retry_ms: int
    newest_kept: int
    clocks_jump_at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityPlan:
    """Whether nodes ask their callers for names, and what becomes of these.

    Fields:
        is_secured: whether the nodes have users and rules; if not, everyone may do everything.
        mechanism: of SASL.
        max_reauth_ms: how long a session is valid; 0 for no limit.
        everyone_describes: whether a rule lets everyone describe.
        operator_is_voter: whether the last voter has no user of its own, and is run by the super user.
        forgetful_percent: how many connections of nodes and of Kafka's clients do not authenticate again in time.
        broken_percent: how many of their connections break while they authenticate.
    """

    is_secured: bool
    mechanism: str
    max_reauth_ms: int
    everyone_describes: bool
    operator_is_voter: bool
    forgetful_percent: int
    broken_percent: int


NOT_SECURED = SecurityPlan(
    is_secured=False,
    mechanism="PLAIN",
    max_reauth_ms=0,
    everyone_describes=False,
    operator_is_voter=False,
    forgetful_percent=0,
    broken_percent=0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of one run, which decides everything in it.

    Fields:
        seed: seeds all random numbers of the run.
        voters, observers: the nodes.
        late_starts_ms: when nodes are started for the first time; those that are missing start with the run.
        fetch_max_bytes: the size limit in a replica's fetch.
        queued_bytes: the response budget of a node.
        flood_percentage: request_percentage of the clients that flood nodes; None without quotas.
        fault_phase_ms: how long faults strike and new writes are made.
        fault_phase_events: the phase also ends after so many events, since a quorum without faults handles very many.
    """

    seed: int
    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...]
    late_starts_ms: Mapping[NodeId, int]
    fetch_max_bytes: int
    queued_bytes: int
    timeouts: TimeoutPlan
    network: NetworkPlan
    wire: WirePlan
    disk: DiskPlan
    snapshots: SnapshotPlan
    clocks: ClockPlan
    faults: FaultPlan
    clients: ClientPlan
    fault_phase_ms: int
    fault_phase_events: int
    security: SecurityPlan = NOT_SECURED
    flood_percentage: float | None = None


RELIABLE_NETWORK = NetworkPlan(
    delay_ms=(1, 3),
    loss_percent=0,
    held_percent=0,
    repeat_percent=0,
    late_percent=0,
    late_ms=(0, 0),
    damage_percent=0,
    refused_percent=70,
)


def without_delays(disk: DiskPlan) -> DiskPlan:
    """Return the plan of the same disk without delays."""
    return replace(
        disk,
        lag_percent=0,
        beside_percent=0,
        slow_percent=0,
        flush_ms=(0, 2),
        report_ms=(0, 0),
        read_ms=(0, 0),
        check_ms=(0, 0),
    )
