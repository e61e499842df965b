"""One run: clients use a quorum while faults are injected; then the histories and the logs are checked."""

from __future__ import annotations

from pathlib import Path

from raft.types import Offset
from tests.harness.outcome import Outcome
from tests.harness.porcupine import judged_by_porcupine
from tests.harness.quorum import CHECK_QUORUM_MS, LONGEST_RECOVERY_S, Quorum, running_quorum
from tests.harness.quorum_checks import leader_changes
from tests.harness.run import Run, Tell
from tests.node.harness.waiting import eventually
from tests.soak.crowd import LONGEST_END_S, Crowd
from tests.soak.figures import Figures
from tests.soak.nemesis import QuorumNemesis
from tests.soak.plan import Plan
from tests.workload.history import History
from tests.workload.plan_checks import overfull
from tests.workload.replica import Replica
from tests.workload.verdict import judge
from tests.workload.visible_log import VisibleLog
from tests.workload.worker import running

STALE_ALLOWED_MS = 3 * CHECK_QUORUM_MS
"""A leader that was replaced resigns when no majority has fetched within the check-quorum timeout. When it is
suspended, a fetch of each of the two others may be unread in its socket, and counts once it is read: in the worst case
this takes twice that time more."""

LEAST_OTHER_READS = 20
"""Responses of nodes that did not lead, which a run waits for."""

_HISTORY = "history.jsonl"


def run(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures]:
    """Do the run.

    Args:
        plan: the options.
        folder: exists; the logs and output of the nodes, a list of the faults and the operations that Porcupine has
            judged stay there, and the history of a run in which an invariant does not hold.
        tell: gets a line after each fault, and one of Porcupine.
    """
    history, current = History(), Run(folder, tell)
    with running_quorum(folder, is_secured=plan.secures, command=plan.command) as quorum:
        with current.to_its_end():
            _run_under_faults(plan, quorum, history, current)
        newest = current.log_of(quorum)
    visible = VisibleLog.of(newest.batches)
    current.complain(visible.complaints)
    current.complain(overfull(history.plans, visible.records, newest.batches))
    verdict = judge(
        history,
        visible.records,
        transactions=visible.transactions,
        stale_allowed_ms=STALE_ALLOWED_MS,
        complaints=current.complaints,
    )
    verdict = verdict.with_broken(judged_by_porcupine(history, visible, folder, tell))
    refused = {} if quorum.security is None else quorum.security.refused
    if not verdict.is_fine:
        history.save(folder / _HISTORY)
    return Outcome(
        figures=Figures.of(history, current.ended, replica=newest, visible=visible, refused=refused), verdict=verdict
    )


def _run_under_faults(plan: Plan, quorum: Quorum, history: History, current: Run) -> None:
    """Run clients and inject faults; return when no client writes, and all replicas are equal."""
    crowd = Crowd(quorum, history, writer_count=plan.writers, most_values=plan.most_values, seed=plan.seed)
    with running(crowd.workers, longest_end_s=LONGEST_END_S):
        nemesis = QuorumNemesis(
            plan,
            quorum,
            current,
            progress=lambda: f"{leader_changes(quorum):4} leader changes  {history.acknowledged_count:7} appends",
            count_appends=lambda: history.acknowledged_count,
        )
        nemesis.inject_for(plan.duration_s)
        # How many there are by now depends on the machine, and on the nodes that clients have reached.
        eventually(
            lambda: sum(read.is_of_reader for read in history.reads) >= LEAST_OTHER_READS,
            f"{LEAST_OTHER_READS} responses of nodes that do not lead",
            within_s=LONGEST_RECOVERY_S,
        )
        crowd.stop_writing()
        quorum.wait_for_transactions()
        quorum.settle()
        crowd.read_to(_last_offset(quorum))
        current.look_at(quorum)


def _last_offset(quorum: Quorum) -> Offset:
    """Return the offset of the last record that readers see; no client may write meanwhile."""
    return VisibleLog.of(Replica.read(quorum.nodes[1].log_dir).batches).records[-1][0]
