"""Draws the plan of a seed.

Each number is drawn independently, so that seeds differ in kind: some have one kind of fault, some have all of them,
and some have none but shutdowns and resignations by request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from raft.core.config import HIGH_WATERMARK_LINGER_MS
from raft.types import CleanupPolicy, NodeId
from raft.writers.expiry import NEWEST_WRITERS_KEPT
from tests.simulation.denser import FIRST_DENSER, denser
from tests.simulation.dice import Dice
from tests.simulation.faults.kinds import BY_REQUEST, Fault
from tests.simulation.plan import (
    RELIABLE_NETWORK,
    ClientPlan,
    ClockPlan,
    DiskPlan,
    FaultPlan,
    NetworkPlan,
    Plan,
    SecurityPlan,
    SnapshotPlan,
    TimeoutPlan,
    WirePlan,
)
from tests.simulation.security.mechanisms import PLAIN, SCRAM

_FAULTLESS_PERCENT = 8
_SECURED_PERCENT = 46
_FAULT_PHASE_EVENTS = 7_000
_LATEST_JUMP_MS = 10_000
_SEEDS_WITH_OVERLAPS = 5
"""One seed in so many has multipart writers whose writes overlap each other."""

_FIRST_WITH_OVERLAPS = 200
"""The plans of the seeds before stay as they are, and with them what the fixed seeds reach."""

_FIRST_WITH_DAMAGE = 300
"""From this seed on, bits may flip while machines run."""

_OVERLAPPING_WRITERS = 4
_LATE_START_MS = (500, 6_000)
_CLOCK_AHEAD_MS = 1_000_000
_CLOCK_DRIFT = (-5, 5)
_REQUEST_US = (50, 300)

_HALF_ROUNDS: Mapping[Fault, tuple[int | None, ...]] = {
    Fault.CRASH: (None, 1, 2, 4),
    Fault.BLACKOUT: (None, None, 6),
    Fault.STALL: (None, None, 2, 4),
    Fault.CLOCK_JUMP: (None, None, 2, 4),
    Fault.SHUTDOWN: (None, None, 4),
    Fault.RESIGNATION: (None, None, 4),
    Fault.PARTITION: (None, 1, 2, 4),
    Fault.FLAPPING: (None, None, 2, 4),
    Fault.SUCCESSION: (None, None, 4),
    Fault.RESET: (None, 1),
    Fault.HALF_OPEN: (None, None, 2),
    Fault.REFUSAL: (None, None, 2),
    Fault.MISDIRECTION: (None, None, None, 4),
    Fault.STRANGER: (None, None, 1),
    Fault.FORGERY: (None, None, 2),
    Fault.DISK_ERROR: (None, None, 1, 3),
    Fault.BIT_ROT: (None, None, 1),
}
"""The options for the mean time between two faults of a kind, in halves of `TimeoutPlan.round_ms`; None for never."""

_HALF_ROUNDS_OF_SUSPENSIONS = (None, None, 2)
_HALF_ROUNDS_OF_FULL_DISKS = (None, None, 1, 3)
_HALF_ROUNDS_OF_NEW_DISKS = (None, 1, 2)
_HALF_ROUNDS_OF_FLOODS = (None, None, None, 4)
_HALF_ROUNDS_OF_DAMAGES = (None, 1, 2)
_HALF_ROUNDS_OF_INTRUDERS = (1, 1, 2)
_HALF_ROUNDS_OF_REVOCATIONS = (None, 1, 2)
_HALF_ROUNDS_OF_WRONG_RULES = (None, None, 2)


def draw_plan(seed: int) -> Plan:
    """Return the plan of a seed."""
    plan = _draw_plan(seed)
    return denser(plan) if seed >= FIRST_DENSER else plan


def _draw_plan(seed: int) -> Plan:
    dice = Dice(seed, "plan")
    nodes, observers = dice.pick((3, 3, 3, 3, 3, 5, 5, 5, 4, 1)), dice.pick((0, 0, 1, 1, 2))
    voters = tuple(NodeId(number) for number in range(1, nodes + 1))
    others = tuple(NodeId(number) for number in range(nodes + 1, nodes + 1 + observers))
    timeouts = _draw_timeouts(dice, seed)
    network, faults, wire = _draw_network(dice), _draw_faults(dice, seed, timeouts), _draw_wire(dice, voters)
    if dice.chance(_FAULTLESS_PERCENT):
        network, faults = RELIABLE_NETWORK, _only_by_request(faults)
    security = _draw_security(seed)
    if security.is_secured:
        faults = _with_intruders(faults, seed, timeouts)
    return Plan(
        seed=seed,
        voters=voters,
        observers=others,
        late_starts_ms=_draw_late_starts(seed, voters, others),
        fetch_max_bytes=dice.pick((100, 400, 1 << 20)),
        queued_bytes=Dice(seed, "queued").pick((1, 1_000, 64 << 20)),
        timeouts=timeouts,
        network=network,
        wire=wire,
        disk=_draw_disk(dice, seed),
        snapshots=_draw_snapshots(seed),
        clocks=_draw_clocks(seed),
        faults=faults,
        clients=_draw_clients(dice, seed),
        fault_phase_ms=30 * timeouts.election_ms + 12 * timeouts.fetch_ms,
        fault_phase_events=_FAULT_PHASE_EVENTS,
        security=security,
        flood_percentage=_draw_flood_percentage(seed, faults),
    )


def _draw_flood_percentage(seed: int, faults: FaultPlan) -> float | None:
    drawn = Dice(seed, "quotas").pick((None, None, 0.1, 1.0))
    return drawn if Fault.FLOOD in faults.every_ms else None


def _has_overlaps(seed: int) -> bool:
    """Whether there are multipart writers whose writes overlap each other almost without a gap."""
    return seed >= _FIRST_WITH_OVERLAPS and Dice(seed, "overlaps").draw(_SEEDS_WITH_OVERLAPS) == 0


def _draw_late_starts(seed: int, voters: tuple[NodeId, ...], observers: tuple[NodeId, ...]) -> dict[NodeId, int]:
    """Draw which nodes have to load a snapshot, if there is one by then. Without them the voters have a majority."""
    dice = Dice(seed, "late starts")
    late = [node_id for node_id in observers if dice.draw(3)]
    if len(voters) > 2 and dice.draw(6) == 0:
        late.append(voters[-1])
    return {node_id: dice.between(_LATE_START_MS) for node_id in late}


def _draw_timeouts(dice: Dice, seed: int) -> TimeoutPlan:
    election_ms = dice.pick((150, 300, 600, 1000))
    # A leader may park a fetch for half a second (FETCH_MAX_WAIT_MS), and one that is sent behind another on the same
    # connection waits twice as long: shorter timeouts would often expire without a fault.
    fetch_ms = dice.pick((1100, 1500, 2000))
    return TimeoutPlan(
        election_ms=election_ms,
        fetch_ms=fetch_ms,
        fetch_spread_ms=fetch_ms // 10,
        request_ms=dice.pick((1100, 1500, 2000)),
        backoff_max_ms=dice.pick((0, election_ms, 1000)),
        timer_grain_ms=dice.pick((1, 1, 1, 16)),
        linger_ms=Dice(seed, "linger").pick((0, HIGH_WATERMARK_LINGER_MS, 10 * HIGH_WATERMARK_LINGER_MS)),
    )


def _draw_network(dice: Dice) -> NetworkPlan:
    return NetworkPlan(
        delay_ms=dice.pick(((0, 3), (1, 10), (1, 10), (1, 60), (5, 250))),
        loss_percent=dice.pick((0, 0, 1, 5, 20)),
        held_percent=dice.pick((0, 0, 1, 5)),
        repeat_percent=dice.pick((0, 2, 10)),
        late_percent=dice.pick((0, 20, 60)),
        late_ms=dice.pick(((100, 1000), (500, 6000))),
        damage_percent=dice.pick((0, 0, 2, 10)),
        refused_percent=RELIABLE_NETWORK.refused_percent,
    )


def _draw_wire(dice: Dice, voters: tuple[NodeId, ...]) -> WirePlan:
    return WirePlan(
        old_nodes=tuple(dice.some(voters, 1 + dice.draw(len(voters)))) if dice.draw(8) == 0 else (),
        has_dead_address=dice.draw(4) == 0,
    )


def _draw_disk(dice: Dice, seed: int) -> DiskPlan:
    return DiskPlan(
        lag_percent=dice.pick((0, 0, 5, 20)),
        lag_ms=dice.pick(((1, 5), (1, 100))),
        beside_percent=Dice(seed, "beside").pick((0, 20, 80)),
        flush_ms=dice.pick(((0, 2), (1, 15), (5, 100))),
        slow_percent=dice.pick((0, 2, 10)),
        slow_ms=dice.pick(((50, 300), (300, 2000))),
        report_ms=dice.pick(((0, 0), (0, 5), (0, 100))),
        read_ms=Dice(seed, "reads").pick(((0, 0), (0, 5), (0, 60))),
        check_ms=Dice(seed, "checks").pick(((0, 0), (0, 100), (100, 4_000))),
        piece_bytes=Dice(seed, "pieces").pick((300, 1 << 20, 1 << 20)),
        segment_bytes=dice.pick((300, 2_000, 2_000, 1 << 30)),
        tail_bytes=dice.pick((200, 4 << 20)),
    )


def _draw_snapshots(seed: int) -> SnapshotPlan:
    dice = Dice(seed, "snapshots")
    none, compact, delete = CleanupPolicy.NONE, CleanupPolicy.COMPACT, CleanupPolicy.DELETE
    return SnapshotPlan(
        policy=dice.pick((none, none, none, compact, compact, delete)),
        bytes_between=dice.pick((500, 2_000, 8_000)),
        interval_ms=dice.pick((2_000, 3_600_000)),
        retention_bytes=dice.pick((0, 2_000, 10_000)),
        delete_retention_ms=dice.pick((0, 3_000, 86_400_000)),
        make_ms=dice.pick(((0, 0), (5, 100), (100, 3_000))),
        fetch_bytes=dice.pick((200, 1_000, 1 << 20)),
    )


def _draw_clocks(seed: int) -> ClockPlan:
    dice = Dice(seed, "loops")
    return ClockPlan(
        ahead_ms=_CLOCK_AHEAD_MS,
        drift=_CLOCK_DRIFT,
        busy_percent=dice.pick((0, 5, 30)),
        busy_ms=dice.pick(((0, 2), (0, 10), (1, 50))),
        request_us=_REQUEST_US,
    )


def _draw_faults(dice: Dice, seed: int, timeouts: TimeoutPlan) -> FaultPlan:
    round_ms = timeouts.round_ms
    half_rounds = {fault: dice.pick(options) for fault, options in _HALF_ROUNDS.items()}
    half_rounds[Fault.SUSPENSION] = Dice(seed, "suspension").pick(_HALF_ROUNDS_OF_SUSPENSIONS)
    half_rounds[Fault.FULL_DISK] = Dice(seed, "full disk").pick(_HALF_ROUNDS_OF_FULL_DISKS)
    half_rounds[Fault.NEW_DISK] = Dice(seed, "new disk").pick(_HALF_ROUNDS_OF_NEW_DISKS)
    half_rounds[Fault.FLOOD] = Dice(seed, "floods").pick(_HALF_ROUNDS_OF_FLOODS)
    if seed >= _FIRST_WITH_DAMAGE:
        half_rounds[Fault.DAMAGE] = Dice(seed, "damage").pick(_HALF_ROUNDS_OF_DAMAGES)
    return FaultPlan(
        every_ms={fault: drawn * round_ms // 2 for fault, drawn in half_rounds.items() if drawn is not None},
        down_ms=dice.pick(((0, 50), (0, round_ms // 2), (round_ms // 4, round_ms))),
        partition_ms=dice.pick(((10, 200), (100, round_ms), (round_ms // 2, 2 * round_ms))),
        stall_ms=dice.pick(((10, 300), (100, round_ms))),
    )


def _only_by_request(faults: FaultPlan) -> FaultPlan:
    every_ms = {fault: every_ms for fault, every_ms in faults.every_ms.items() if fault in BY_REQUEST}
    return replace(faults, every_ms=every_ms)


def _draw_security(seed: int) -> SecurityPlan:
    dice = Dice(seed, "security")
    return SecurityPlan(
        is_secured=dice.chance(_SECURED_PERCENT),
        mechanism=dice.pick((PLAIN, SCRAM)),
        max_reauth_ms=dice.pick((0, 400, 1_500, 6_000)),
        everyone_describes=dice.draw(4) == 0,
        operator_is_voter=dice.draw(4) == 0,
        forgetful_percent=dice.pick((0, 10, 50)),
        broken_percent=dice.pick((0, 0, 5)),
    )


def _with_intruders(faults: FaultPlan, seed: int, timeouts: TimeoutPlan) -> FaultPlan:
    """Return a plan with intruders too. They come in runs without faults as well."""
    dice, round_ms = Dice(seed, "intruders"), timeouts.round_ms
    every_ms = {**faults.every_ms, Fault.INTRUDER: dice.pick(_HALF_ROUNDS_OF_INTRUDERS) * round_ms // 2}
    revocations = dice.pick(_HALF_ROUNDS_OF_REVOCATIONS)
    if revocations is not None:
        every_ms[Fault.REVOCATION] = revocations * round_ms // 2
    wrong_rules = Dice(seed, "wrong rules").pick(_HALF_ROUNDS_OF_WRONG_RULES)
    if wrong_rules is not None:
        every_ms[Fault.WRONG_RULES] = wrong_rules * round_ms // 2
        # A node cannot tell that the address of another one leads to the one with the wrong rules: it would halt.
        every_ms.pop(Fault.MISDIRECTION, None)
    return replace(faults, every_ms=every_ms)


def _draw_clients(dice: Dice, seed: int) -> ClientPlan:
    of_time = Dice(seed, "log time")
    of_sessions = Dice(seed, "sessions")
    of_keys = Dice(seed, "keys")
    of_transactions = Dice(seed, "transactions")
    newest_kept = of_time.pick((0, 0, NEWEST_WRITERS_KEPT))
    plan = ClientPlan(
        producers=dice.pick((1, 1, 2, 3)),
        window=dice.pick((1, 2, 5)),
        keyed_writers=dice.pick((1, 1, 2)),
        readers=dice.pick((1, 2)),
        pause_ms=dice.pick(((0, 50), (20, 200), (100, 600))),
        patience_ms=dice.pick((200, 600, 1500)),
        timeout_ms=dice.pick(((100, 1000), (1000, 3000))),
        multipart_writers=of_transactions.pick((0, 1, 1)),
        transactional_producers=of_transactions.pick((0, 0, 1, 1, 2)),
        transaction_timeout_ms=of_transactions.pick((300, 1_500, 4_000)),
        stream_readers=of_sessions.pick((1, 1, 2)),
        api_timeout_ms=of_sessions.pick((800, 3_000, 60_000)),
        retry_ms=of_sessions.pick((5, 50)),
        end_readers=of_sessions.pick((0, 1, 1, 2)),
        keys=of_keys.pick((2, 8, 40)),
        has_tombstones=of_keys.draw(2) == 1,
        newest_kept=newest_kept,
        clocks_jump_at_ms=of_time.draw(_LATEST_JUMP_MS) if newest_kept else None,
    )
    if _has_overlaps(seed):
        plan = replace(plan, multipart_writers=_OVERLAPPING_WRITERS, transactional_producers=1, pause_ms=(0, 50))
    # A producer whose transactions end before it finds the leader would never commit one.
    return replace(plan, transaction_timeout_ms=max(plan.transaction_timeout_ms, 2 * plan.patience_ms))
