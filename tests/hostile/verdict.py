"""The violations that a run found, apart from the histories of the clients."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.attacks.every import attacks_of
from tests.hostile.figures import Figures
from tests.hostile.identity import Identity

MEMORY_RATIO = 1.5
"""Largest ratio of the peak memory of a node with the neighbour to that without it."""

P99_RATIO = 1.5
"""Largest ratio of the 99th percentile of appends beside the neighbour to that of the control."""

BUSY_PROCESSES = 5
"""Three nodes, the neighbour, and the honest clients. The nodes of the control work for the honest clients alone. Under
attack each node works all the time, so with fewer processors than that a node often waits for one, and each append
waits for several nodes one after the other.
"""

LONGEST_STEP_MS = 50.0
"""Most processor time of one step of an event loop, in which votes and fetches wait."""

LONGEST_GAP_MS = 2_000
"""Longest time without an acknowledgement: the fetch timeout, after which a follower starts a pre-vote."""

LOGGED_BYTES = 256 << 10
"""Most output of a node in the hostile phase. Similar messages are counted and not repeated (`raft.node.faults`)."""

RECEIVED_BYTES = 16 << 10
"""Most that a node sends to a client without a name: it answers a few ApiVersions."""


def complaints(figures: Figures, *, allowance_bytes: int) -> Iterator[str]:
    """Yield the violations of the nodes, except for times that depend on what else runs on the machine."""
    if figures.end.leader != figures.begin.leader:
        yield f"leader and epoch changed from {figures.begin.leader} to {figures.end.leader}"
    if figures.end.role_changes != figures.quiet_end.role_changes:
        yield f"{figures.end.role_changes - figures.quiet_end.role_changes} role changes in the hostile phase"
    if figures.hostile.clients != figures.quiet.clients:
        yield f"{figures.hostile.clients} of {figures.quiet.clients} clients had appends acknowledged"
    for node_id, peak_bytes in figures.end.peak_bytes.items():
        quiet_bytes = figures.quiet_end.peak_bytes[node_id]
        if peak_bytes > MEMORY_RATIO * quiet_bytes + allowance_bytes:
            yield (
                f"peak memory of node {node_id}: {peak_bytes >> 20} MiB, {quiet_bytes >> 20} MiB in the quiet phase; "
                f"expected at most {MEMORY_RATIO:g} times that and {allowance_bytes >> 20} MiB"
            )
        logged_bytes = figures.end.logged_bytes[node_id] - figures.quiet_end.logged_bytes[node_id]
        if logged_bytes > LOGGED_BYTES:
            yield f"node {node_id} logged {logged_bytes} bytes; expected at most {LOGGED_BYTES}"
    if figures.end.longest_step_ms > LONGEST_STEP_MS:
        yield f"a step of an event loop took {figures.end.longest_step_ms:.0f} ms; expected at most {LONGEST_STEP_MS:g}"
    yield from _uncounted(figures)
    if figures.identity is Identity.STRANGER:
        yield from _effects(figures)


def _uncounted(figures: Figures) -> Iterator[str]:
    """Yield what the nodes should have counted, and have not."""
    if figures.identity.is_secured:
        attacks = attacks_of(figures.identity)
        for name in sorted({field for attack in figures.tally.ended for field in attacks[attack].counted}):
            if not getattr(figures.counts, name):
                yield f"the nodes have counted none as {name}"


def _effects(figures: Figures) -> Iterator[str]:
    """Yield what a stranger has got from the nodes, but for records in the log."""
    if figures.counts.authenticated > figures.quiet.clients:
        yield f"{figures.counts.authenticated} names were proved; expected at most one by each honest client"
    if figures.tally.received_at_most > RECEIVED_BYTES:
        yield f"a stranger received {figures.tally.received_at_most} bytes; expected at most {RECEIVED_BYTES}"


def late(figures: Figures, *, processors: int) -> Iterator[str]:
    """Yield the times that are too long. They depend on what else runs on the machine.

    Args:
        figures: of the run.
        processors: how many this process may use. With fewer than `BUSY_PROCESSES` the percentile is not judged.
    """
    if processors >= BUSY_PROCESSES and figures.p99_ratio > P99_RATIO:
        yield f"p99 of appends: {figures.p99_ratio:.1f} times that of the control; expected at most {P99_RATIO:g}"
    if figures.hostile.longest_gap_ms > LONGEST_GAP_MS:
        yield f"no acknowledgement for {figures.hostile.longest_gap_ms:.0f} ms; expected at most {LONGEST_GAP_MS} ms"
