"""One run: clients use a quorum while faults are injected; then the histories and the logs are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError

from raft.errors import RaftError
from raft.types import Offset
from tests.node.harness.waiting import eventually
from tests.soak.crowd import Crowd
from tests.soak.figures import Figures
from tests.soak.nemesis import EndedFault, Nemesis
from tests.soak.planted import serve_with
from tests.soak.porcupine import judged_by_porcupine
from tests.soak.quorum import CHECK_QUORUM_MS, LONGEST_RECOVERY_S, SERVE, Quorum, running_quorum
from tests.workload.history import History
from tests.workload.plan_checks import overfull
from tests.workload.replica import Replica, differences
from tests.workload.verdict import Verdict, judge
from tests.workload.visible_log import VisibleLog

STALE_ALLOWED_MS = 3 * CHECK_QUORUM_MS
"""A leader that was replaced resigns when no majority has fetched within the check-quorum timeout. When it is
suspended, a fetch of each of the two others may be unread in its socket, and counts once it is read: in the worst case
this takes twice that time more."""

LEAST_OTHER_READS = 20
"""Responses of nodes that did not lead, which a run waits for."""

_FAULTS = "faults.txt"
_HISTORY = "history.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Options of a run.

    Fields:
        seed: decides the order of the faults and what clients do, but not how processes and threads interleave.
        duration_s: how long faults are injected; at least one of each kind, however short this is.
        longest_fault_s: the longest duration of a fault.
        writers: how many clients write.
        most_values: of one request of the clients that do keyed and multipart writes.
        is_secured: whether clients and voters prove their names; None for every second seed.
        only: a part of the names of the kinds of faults; empty for all.
        planted_bug: a name in `tests.soak.planted.PLANTED`; None for none.
    """

    seed: int
    duration_s: float
    longest_fault_s: float = 5.0
    writers: int = 10
    most_values: int = 12
    is_secured: bool | None = None
    only: str = ""
    planted_bug: str | None = None

    @property
    def secures(self) -> bool:
        """Whether the quorum is secured."""
        return self.seed % 2 == 1 if self.is_secured is None else self.is_secured

    @property
    def command(self) -> Sequence[str]:
        """The command that starts a node."""
        return SERVE if self.planted_bug is None else serve_with(self.planted_bug)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run."""

    figures: Figures
    verdict: Verdict


def run(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Outcome:
    """Do the run.

    Args:
        plan: the options.
        folder: exists; the logs and output of the nodes, a list of the faults and the operations that Porcupine has
            judged stay there, and the history of a run in which an invariant does not hold.
        tell: gets a line after each fault, and one of Porcupine.
    """
    history = History()
    ended: list[EndedFault] = []
    complaints: list[str] = []
    with (
        running_quorum(folder, is_secured=plan.secures, command=plan.command) as quorum,
        (folder / _FAULTS).open("w") as faults,
    ):

        def note(fault: EndedFault) -> None:
            ended.append(fault)
            line = _line(fault, history, quorum)
            faults.write(f"{line}\n")
            tell(line)

        try:
            _run_under_faults(plan, quorum, history, note)
        except (AssertionError, RaftError, SubprocessError) as error:
            complaints.append(f"the run ended early: {error}")
        quorum.kill()
        replicas = {node_id: Replica.read(node.log_dir) for node_id, node in quorum.nodes.items()}
    if not complaints:
        complaints += differences(replicas)
    complaints += quorum.complaints()
    # All logs are equal, unless the run ended early. Then the newest one has every committed record.
    newest = max(replicas.values(), key=lambda replica: replica.end)
    visible = VisibleLog.of(newest.batches)
    complaints += visible.complaints
    complaints += overfull(history.plans, visible.records, newest.batches)
    verdict = judge(
        history,
        visible.records,
        transactions=visible.transactions,
        stale_allowed_ms=STALE_ALLOWED_MS,
        complaints=complaints,
    )
    verdict = verdict.with_broken(judged_by_porcupine(history, visible, folder, tell))
    refused = {} if quorum.security is None else quorum.security.refused
    if not verdict.is_fine:
        history.save(folder / _HISTORY)
    return Outcome(
        figures=Figures.of(history, ended, replica=newest, visible=visible, refused=refused), verdict=verdict
    )


def _run_under_faults(plan: Plan, quorum: Quorum, history: History, note: Callable[[EndedFault], None]) -> None:
    """Run clients and inject faults; return when no client writes, and all replicas are equal."""
    with Crowd(quorum, history, writer_count=plan.writers, most_values=plan.most_values, seed=plan.seed) as crowd:
        nemesis = Nemesis(
            quorum,
            only=plan.only,
            seed=plan.seed,
            longest_fault_s=plan.longest_fault_s,
            count_appends=lambda: history.acknowledged_count,
            tell=note,
        )
        nemesis.inject_faults(plan.duration_s)
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


def _last_offset(quorum: Quorum) -> Offset:
    """Return the offset of the last record that readers see; no client may write meanwhile."""
    return VisibleLog.of(Replica.read(quorum.nodes[1].log_dir).batches).records[-1][0]


def _line(fault: EndedFault, history: History, quorum: Quorum) -> str:
    return (
        f"{fault.at_s:6.1f} s  {quorum.leader_changes():4} leader changes  {history.acknowledged_count:7} appends  "
        f"{fault.kind}: {fault.what}"
    )
