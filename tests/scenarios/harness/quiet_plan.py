"""The plan of a scenario: a plan of the simulator without randomness and faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft.types import CleanupPolicy, NodeId
from tests.scenarios.harness.dice import Dice
from tests.simulation.plan import (
    ClientPlan,
    ClockPlan,
    DiskPlan,
    FaultPlan,
    NetworkPlan,
    Plan,
    SnapshotPlan,
    TimeoutPlan,
    WirePlan,
)

_AT_ONCE = (0, 0)
_BACKOFF_MAX_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSettings:
    """The settings of a scenario's quorum; see the command `quorum`."""

    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...]
    election_ms: int
    fetch_ms: int
    request_ms: int
    fetch_max_bytes: int
    dice: Callable[[NodeId], Dice]


def quiet_plan(settings: QuorumSettings) -> Plan:
    """Return the plan of a scenario."""
    return Plan(
        seed=0,
        voters=settings.voters,
        observers=settings.observers,
        late_starts_ms={},
        fetch_max_bytes=settings.fetch_max_bytes,
        queued_bytes=1 << 30,
        timeouts=TimeoutPlan(
            election_ms=settings.election_ms,
            fetch_ms=settings.fetch_ms,
            fetch_spread_ms=0,
            request_ms=settings.request_ms,
            backoff_max_ms=_BACKOFF_MAX_MS,
            timer_grain_ms=1,
            linger_ms=0,
        ),
        network=NetworkPlan(
            delay_ms=_AT_ONCE,
            loss_percent=0,
            held_percent=0,
            repeat_percent=0,
            late_percent=0,
            late_ms=_AT_ONCE,
            damage_percent=0,
            refused_percent=0,
            negotiates=False,
        ),
        wire=WirePlan(old_nodes=(), has_dead_address=False),
        disk=DiskPlan(
            lag_percent=0,
            lag_ms=_AT_ONCE,
            beside_percent=0,
            flush_ms=_AT_ONCE,
            slow_percent=0,
            slow_ms=_AT_ONCE,
            report_ms=_AT_ONCE,
            read_ms=_AT_ONCE,
            check_ms=_AT_ONCE,
            piece_bytes=1 << 20,
            segment_bytes=1 << 30,
            tail_bytes=1 << 20,
        ),
        snapshots=SnapshotPlan(
            policy=CleanupPolicy.NONE,
            bytes_between=1 << 30,
            interval_ms=0,
            retention_bytes=1 << 30,
            delete_retention_ms=0,
            make_ms=_AT_ONCE,
            fetch_bytes=1 << 20,
        ),
        clocks=ClockPlan(ahead_ms=0, drift=_AT_ONCE, busy_percent=0, busy_ms=_AT_ONCE, request_us=_AT_ONCE),
        faults=FaultPlan(every_ms={}, down_ms=None, partition_ms=_AT_ONCE, stall_ms=_AT_ONCE),
        clients=ClientPlan(
            producers=0,
            window=0,
            keyed_writers=0,
            multipart_writers=0,
            transactional_producers=0,
            transaction_timeout_ms=900_000,
            readers=0,
            stream_readers=0,
            end_readers=0,
            pause_ms=_AT_ONCE,
            patience_ms=0,
            timeout_ms=_AT_ONCE,
            api_timeout_ms=0,
            retry_ms=0,
            newest_kept=0,
            keys=0,
            has_tombstones=False,
            clocks_jump_at_ms=None,
        ),
        fault_phase_ms=0,
        fault_phase_events=0,
    )
