"""One run: a quorum, a crowd of clients, and a nemesis; then peace, and judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError

from raft.errors import RaftError
from raft.types import Offset
from tests.soak.crowd import Crowd
from tests.soak.figures import Figures
from tests.soak.nemesis import Nemesis, Struck
from tests.soak.quorum import CHECK_QUORUM_MS, Quorum, running_quorum
from tests.workload.history import History
from tests.workload.replica import Replica, differences
from tests.workload.verdict import Verdict, judge

STALE_ALLOWED_MS = 3 * CHECK_QUORUM_MS
"""A deposed leader resigns when no majority has fetched for check quorum's time. The last fetch of each of the two
others may lie unread in its socket when it is stopped, and counts when it is read: at worst twice that time more."""

_STORY = "story.txt"
_HISTORY = "history.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is to be.

    Fields:
        seed: which faults come in which order, and what clients do; not how processes and threads interleave.
        duration_s: how long there are faults; at least one of each kind comes, however short this is.
        longest_fault_s: most that a fault lasts.
        writers: how many clients write.
    """

    seed: int
    duration_s: float
    longest_fault_s: float = 5.0
    writers: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    figures: Figures
    verdict: Verdict


def run(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Outcome:
    """Do it, and leave in `folder` what the nodes have written and said, the story, and the history if it is a bad one.

    Args:
        plan: what to do.
        folder: exists.
        tell: gets a line after each fault.
    """
    history = History()
    struck: list[Struck] = []
    complaints: list[str] = []
    with running_quorum(folder) as quorum, (folder / _STORY).open("w") as story:

        def over(fault: Struck) -> None:
            struck.append(fault)
            line = _line(fault, history, quorum)
            story.write(f"{line}\n")
            tell(line)

        try:
            _trouble(plan, quorum, history, over)
        except (AssertionError, RaftError, SubprocessError) as error:
            complaints.append(f"the run ended early: {error}")
        quorum.kill()
        replicas = {node_id: Replica.read(node.log_dir) for node_id, node in quorum.nodes.items()}
    if not complaints:
        complaints += differences(replicas)
    complaints += quorum.complaints()
    # All are the same, unless the run ended early: then the newest has all that was ever committed.
    newest = max(replicas.values(), key=lambda replica: replica.end)
    log = newest.records()
    verdict = judge(history, log, stale_allowed_ms=STALE_ALLOWED_MS, complaints=complaints)
    if not verdict.is_fine:
        history.save(folder / _HISTORY)
    return Outcome(figures=Figures.of(history, struck, replica=newest, log=log), verdict=verdict)


def _trouble(plan: Plan, quorum: Quorum, history: History, over: Callable[[Struck], None]) -> None:
    """Let clients and faults loose upon each other; return when all is quiet, and all replicas are the same."""
    with Crowd(quorum, history, writer_count=plan.writers, seed=plan.seed) as crowd:
        nemesis = Nemesis(
            quorum,
            seed=plan.seed,
            longest_fault_s=plan.longest_fault_s,
            count_appends=lambda: history.acknowledged_count,
            tell=over,
        )
        nemesis.strike(plan.duration_s)
        crowd.stop_writing()
        quorum.settle()
        crowd.read_to(_last_offset(quorum))


def _last_offset(quorum: Quorum) -> Offset:
    """Where the last data record is, in a log that nobody writes to."""
    return Replica.read(quorum.nodes[1].log_dir).records()[-1][0]


def _line(fault: Struck, history: History, quorum: Quorum) -> str:
    return (
        f"{fault.at_s:6.1f} s  {quorum.leader_changes():4} leader changes  {history.acknowledged_count:7} appends  "
        f"{fault.kind}: {fault.what}"
    )
