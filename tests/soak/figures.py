"""Figures of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.harness.figures import fault_counts, rows_of_faults, slowest_recovery_s, table
from tests.harness.run import EndedFault
from tests.workload import checks
from tests.workload.history import History
from tests.workload.replica import Replica
from tests.workload.transaction_checks import attempts_of
from tests.workload.transaction_checks import ended as transaction_ends
from tests.workload.visible_log import VisibleLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts of a run, and the longest times of two kinds.

    Fields:
        leader_changes: leaders that began an epoch in the log after the first one.
        acknowledged: values that were acknowledged.
        unknown, unknown_in_log: values that were not acknowledged; how many of these are in the log.
        batches: in the log, control batches included.
        committed, aborted: transactions in the log, parts of multipart writes included.
        reads, sessions: responses to readers, and in how many sessions.
        other_reads: responses of nodes that did not lead.
        looks: last stable offsets that a leader had confirmed.
        stalest_ms: the longest time since the acknowledgement of a record that a read did not see.
        slowest_recovery_s: the longest time from the end of a fault until appends succeeded again.
        faults: how many of each kind.
        refused: how often the nodes have refused what they must refuse, by what that was.
    """

    leader_changes: int
    acknowledged: int
    unknown: int
    unknown_in_log: int
    batches: int
    committed: int
    aborted: int
    reads: int
    sessions: int
    other_reads: int
    looks: int
    stalest_ms: float
    slowest_recovery_s: float
    faults: Mapping[str, int]
    refused: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        history: History,
        ended: Sequence[EndedFault],
        *,
        replica: Replica,
        visible: VisibleLog,
        refused: Mapping[str, int],
    ) -> Figures:
        """Count; `visible` is what readers see of the replica."""
        writes = checks.writes_of(history.all_appends)
        logged = {value for _, value in visible.records}
        unknown = [write for write in writes if write.acknowledged_ns is None]
        committed = sum(transaction.is_committed for transaction in visible.transactions)
        staleness = checks.staleness_ms(
            history.reads,
            writes,
            visible.records,
            transactions=visible.transactions,
            ended=transaction_ends(attempts_of(history.transactions), visible.transactions),
        )
        return cls(
            leader_changes=replica.leader_changes,
            acknowledged=len(writes) - len(unknown),
            unknown=len(unknown),
            unknown_in_log=sum(write.value in logged for write in unknown),
            batches=len(replica.batches),
            committed=committed,
            aborted=len(visible.transactions) - committed,
            reads=len(history.reads),
            sessions=len({read.session for read in history.reads}),
            other_reads=sum(read.is_of_reader for read in history.reads),
            looks=sum(read.is_latest for read in history.reads),
            stalest_ms=max((late_ms for late_ms, _ in staleness), default=0.0),
            slowest_recovery_s=slowest_recovery_s(ended),
            faults=fault_counts(ended),
            refused=dict(sorted(refused.items())),
        )

    def __str__(self) -> str:
        return table(
            [
                (self.leader_changes, "leader changes"),
                (self.acknowledged, f"appends acknowledged, in {self.batches} batches"),
                (self.unknown, f"appends of unknown outcome, {self.unknown_in_log} of them in the log"),
                (self.committed, f"transactions and parts committed, {self.aborted} aborted"),
                (self.reads, f"reads, in {self.sessions} sessions, {self.other_reads} of nodes that did not lead"),
                (self.looks, "ends of the log that a leader had confirmed"),
                (f"{self.stalest_ms:.0f} ms", "longest time that a session did not see an acknowledged record"),
                (f"{self.slowest_recovery_s:.1f} s", "longest time from the end of a fault until appends succeeded"),
                (sum(self.faults.values()), "faults:"),
                *rows_of_faults(self.faults),
                *((count, f"refused: {what}") for what, count in self.refused.items()),
            ]
        )
