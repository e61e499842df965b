"""Plans in which a rare moment is frequent: faults of some kinds follow each other quickly, and the clients fit them.

In most plans a fault strikes every few seconds, and a crash seldom comes within the milliseconds of a cut, of an
installation, or of the first appends of a new leader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from raft.types import CleanupPolicy
from tests.simulation.faults.kinds import Fault
from tests.simulation.plan import Plan

FIRST_DENSER = 20_000
"""The seeds from here on have denser plans, one kind after the other."""

_BUSY_MS = (0, 50)
_BURST_MS = (0, 20)


def denser(plan: Plan) -> Plan:
    """Return a plan with the kind of its seed."""
    return KINDS[plan.seed % len(KINDS)](plan)


def crashes_in_cuts(plan: Plan) -> Plan:
    """Machines crash while snapshots replace the starts of logs."""
    return _snapshots(_segments(_often(plan, {Fault.CRASH: 300}), 300))


def crashes_in_installations(plan: Plan) -> Plan:
    """Machines crash while observers with new disks load snapshots."""
    return _snapshots(_segments(_often(plan, {Fault.CRASH: 300, Fault.NEW_DISK: 800}), 2_000))


def leaders_change_between_parts(plan: Plan) -> Plan:
    """Leaders are replaced while many multipart writes are under way."""
    writers = {"multipart_writers": 4, "transactional_producers": 1, "pause_ms": _BUSY_MS}
    return _clients(_often(plan, {Fault.CRASH: 700, Fault.RESIGNATION: 500}), **writers)


def leaders_change_between_versions(plan: Plan) -> Plan:
    """Leaders are replaced while keyed writers write new versions."""
    return _clients(_successions(plan), keyed_writers=4, pause_ms=_BUSY_MS)


def leaders_change_between_reads(plan: Plan) -> Plan:
    """Leaders are replaced while clients ask where the log ends, and messages are late."""
    network = replace(plan.network, held_percent=8, late_ms=(100, 1_000))
    return replace(_clients(_successions(plan), end_readers=4, pause_ms=_BUSY_MS), network=network)


def full_disks(plan: Plan) -> Plan:
    """Disks are full most of the time, and much is appended."""
    return _clients(_often(plan, {Fault.FULL_DISK: 700}), producers=3, window=5, pause_ms=_BURST_MS)


def crashes_with_full_disks(plan: Plan) -> Plan:
    """The same, and machines crash."""
    return _often(full_disks(plan), {Fault.CRASH: 700})


def crashes_after_truncations(plan: Plan) -> Plan:
    """Logs diverge and are truncated, and machines crash."""
    return _clients(_often(_successions(plan), {Fault.CRASH: 500}), pause_ms=_BUSY_MS)


def stops_before_commits(plan: Plan) -> Plan:
    """Nodes are shut down while they cannot commit what they have appended."""
    return _clients(_often(_successions(plan), {Fault.SHUTDOWN: 400}), pause_ms=_BUSY_MS)


def damage_of_snapshots(plan: Plan) -> Plan:
    """Bits flip where snapshots are made all the time."""
    return _snapshots(_often(plan, {Fault.DAMAGE: 300}))


def resets_of_floods(plan: Plan) -> Plan:
    """Connections are reset while nodes have more requests than they can handle."""
    clocks = replace(plan.clocks, request_us=(300, 300))
    return replace(_often(plan, {Fault.FLOOD: 500, Fault.RESET: 60}), clocks=clocks)


KINDS: tuple[Callable[[Plan], Plan], ...] = (
    crashes_in_cuts,
    crashes_in_installations,
    leaders_change_between_parts,
    leaders_change_between_versions,
    leaders_change_between_reads,
    full_disks,
    crashes_with_full_disks,
    crashes_after_truncations,
    stops_before_commits,
    damage_of_snapshots,
    resets_of_floods,
)


def _often(plan: Plan, every_ms: dict[Fault, int]) -> Plan:
    return replace(plan, faults=replace(plan.faults, every_ms={**plan.faults.every_ms, **every_ms}))


def _successions(plan: Plan) -> Plan:
    often = _often(plan, {Fault.SUCCESSION: 1_200, Fault.PARTITION: 1_200})
    return replace(often, faults=replace(often.faults, partition_ms=(100, 2_000)))


def _clients(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, clients=replace(plan.clients, **changes))


def _segments(plan: Plan, segment_bytes: int) -> Plan:
    return replace(plan, disk=replace(plan.disk, segment_bytes=segment_bytes))


def _snapshots(plan: Plan) -> Plan:
    policy = CleanupPolicy.DELETE if plan.snapshots.policy is CleanupPolicy.NONE else plan.snapshots.policy
    return replace(
        plan,
        snapshots=replace(plan.snapshots, policy=policy, bytes_between=500, interval_ms=2_000, retention_bytes=0),
    )
