"""Figures of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.harness.figures import table
from tests.hostile.attacked_quorum import Observation
from tests.hostile.identity import Identity
from tests.hostile.phase import Phase
from tests.hostile.security_counts import SecurityCounts
from tests.hostile.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the run has measured.

    Fields:
        identity: who the neighbour is.
        quiet, hostile, control: the appends of the honest clients alone, beside the neighbour, and beside a process
            that uses as much processor time.
        begin, quiet_end, end: the quorum before, between and after the two phases.
        tally: what the neighbour did.
    """

    identity: Identity = Identity.ANYONE
    quiet: Phase
    hostile: Phase
    control: Phase
    begin: Observation
    quiet_end: Observation
    end: Observation
    tally: Tally

    @property
    def p99_ratio(self) -> float:
        """99th percentile of the appends beside the neighbour, divided by that of the control."""
        return self.hostile.p99_ms / self.control.p99_ms

    @property
    def counts(self) -> SecurityCounts:
        """What the nodes have counted in the hostile phase."""
        return self.end.counts.since(self.quiet_end.counts)

    def __str__(self) -> str:
        quiet, end = self.quiet_end, self.end
        memory = ", ".join(
            f"node {node_id} {quiet.peak_bytes[node_id] >> 20} -> {peak_bytes >> 20} MiB"
            for node_id, peak_bytes in end.peak_bytes.items()
        )
        logged = ", ".join(
            f"node {node_id} {logged_bytes - quiet.logged_bytes[node_id]} B"
            for node_id, logged_bytes in end.logged_bytes.items()
        )
        tally = self.tally
        rows: list[tuple[object, object]] = [
            ("quiet", self.quiet),
            ("hostile", self.hostile),
            ("control", self.control),
            ("p99", f"{self.p99_ratio:.2f} times that of the control"),
            ("longest step", f"{end.longest_step_ms:.0f} ms of processor time"),
            ("leader", f"node {end.leader[0]}, epoch {end.leader[1]}; {end.role_changes - quiet.role_changes} changes"),
            ("peak memory", memory),
            ("logged", logged),
            *self._of_security(),
            ("connections", f"{tally.connections}, {tally.open_at_most} at once, {tally.refused} not opened"),
            ("closed by the nodes", f"{tally.closed_by_node} rounds"),
            *((name, f"{rounds} rounds") for name, rounds in tally.rounds.items()),
        ]
        return table(rows, width=22)

    def _of_security(self) -> Iterator[tuple[str, object]]:
        if self.identity.is_secured:
            counts = self.counts
            yield (
                "neighbour",
                f"a {self.identity.value}, which received at most {self.tally.received_at_most} B at once",
            )
            yield "authentications", f"{counts.authenticated}, {counts.failed} failed, {counts.expired} expired"
            yield "refused requests", counts.refused
            yield "dropped connections", counts.dropped
