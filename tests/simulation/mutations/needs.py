"""What a plan must have so that a run can reach a planted bug. Seeds with other plans are not tried."""

from __future__ import annotations

from raft.types import CleanupPolicy
from tests.simulation.faults.kinds import Fault
from tests.simulation.plan import Plan

_SMALL_SEGMENT_BYTES = 2_000


def nothing(_plan: Plan) -> bool:
    """Every plan will do."""
    return True


def users(plan: Plan) -> bool:
    """Nodes ask their callers for names, and intruders come."""
    return plan.security.is_secured and Fault.INTRUDER in plan.faults.every_ms


def passwords_of_plain(plan: Plan) -> bool:
    """Users authenticate by PLAIN."""
    return users(plan) and plan.security.mechanism == "PLAIN"


def wrong_rules(plan: Plan) -> bool:
    """A node gets wrong rules at times."""
    return plan.security.is_secured and Fault.WRONG_RULES in plan.faults.every_ms


def snapshots(plan: Plan) -> bool:
    """Snapshots are made."""
    return plan.snapshots.policy is not CleanupPolicy.NONE


def compaction(plan: Plan) -> bool:
    """Readers get records of snapshots."""
    return plan.snapshots.policy is CleanupPolicy.COMPACT


def damaged_snapshots(plan: Plan) -> bool:
    """Snapshots are made, and bytes are damaged on disks or on the way."""
    return snapshots(plan) and (flipped_bits(plan) or plan.network.damage_percent > 0)


def flipped_bits(plan: Plan) -> bool:
    """Bits flip on disks while machines run."""
    return Fault.DAMAGE in plan.faults.every_ms


def quotas(plan: Plan) -> bool:
    """The clients that flood nodes have a quota."""
    return plan.flood_percentage is not None


def full_disks(plan: Plan) -> bool:
    """Disks have no room at times."""
    return Fault.FULL_DISK in plan.faults.every_ms


def full_segments(plan: Plan) -> bool:
    """Segments are so small that runs fill many."""
    return plan.disk.segment_bytes <= _SMALL_SEGMENT_BYTES


def floods(plan: Plan) -> bool:
    """Clients flood nodes with requests."""
    return Fault.FLOOD in plan.faults.every_ms


def multipart_writes(plan: Plan) -> bool:
    """Tasks append parts."""
    return plan.clients.multipart_writers > 0


def successors(plan: Plan) -> bool:
    """Leaders are replaced while clients ask them where the log ends."""
    return len(plan.voters) > 2 and len(plan.faults.every_ms) > 2 and plan.clients.end_readers > 0
