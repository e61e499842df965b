"""Everything that is wrong with a run."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.outcome import Outcome

MEMORY_RATIO = 1.5
"""Of a node's peak with the neighbour to that without it."""

P99_RATIO = 5.0
"""The same of the appends' 99th percentile."""

LONGEST_GAP_MS = 2_000
"""Longest time without an acknowledged append: as long as a follower waits before it asks for an election."""

LOGGED_BYTES = 256 << 10
"""What a node may log of a neighbour in a run. Like messages are counted and not repeated (`raft.node.faults`)."""


def complaints(outcome: Outcome, *, allowance_bytes: int) -> Iterator[str]:
    """Say what is wrong with the nodes, times aside."""
    if outcome.end.leader != outcome.begin.leader:
        yield f"leader and epoch were {outcome.begin.leader} and are {outcome.end.leader}"
    if outcome.end.role_changes != outcome.quiet_end.role_changes:
        yield f"{outcome.end.role_changes - outcome.quiet_end.role_changes} role changes while the neighbour was there"
    if outcome.hostile.clients != outcome.quiet.clients:
        yield f"appends of {outcome.hostile.clients} clients went on, of {outcome.quiet.clients}"
    for node_id, peak_bytes in outcome.end.peak_bytes.items():
        quiet_bytes = outcome.quiet_end.peak_bytes[node_id]
        if peak_bytes > MEMORY_RATIO * quiet_bytes + allowance_bytes:
            yield (
                f"node {node_id} took {peak_bytes >> 20} MiB, {quiet_bytes >> 20} MiB before; "
                f"{MEMORY_RATIO:g} times that and {allowance_bytes >> 20} MiB are allowed"
            )
        logged_bytes = outcome.end.logged_bytes[node_id] - outcome.quiet_end.logged_bytes[node_id]
        if logged_bytes > LOGGED_BYTES:
            yield f"node {node_id} logged {logged_bytes} bytes; {LOGGED_BYTES} are allowed"


def late(outcome: Outcome) -> Iterator[str]:
    """Say which times are too long. They depend on what else runs on the machine."""
    if outcome.p99_ratio > P99_RATIO:
        yield f"p99 of appends is {outcome.p99_ratio:.1f} times that of the quiet run; {P99_RATIO:g} are allowed"
    if outcome.hostile.longest_gap_ms > LONGEST_GAP_MS:
        yield f"no append for {outcome.hostile.longest_gap_ms:.0f} ms; {LONGEST_GAP_MS} ms are allowed"
