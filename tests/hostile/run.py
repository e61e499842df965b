"""One run: honest clients append, alone, beside the hostile neighbour, and beside a process that only uses as much
processor time as the neighbour did; then the log is checked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from raft.types import Offset
from tests.harness.outcome import Outcome
from tests.harness.planted import serve_with
from tests.harness.run import Run, Tell
from tests.hostile.attacked_quorum import QUEUED_MAX_REQUEST_BYTES, AttackedQuorum, running_quorum
from tests.hostile.committed import records_of_others, values_of
from tests.hostile.control import Burner
from tests.hostile.figures import Figures
from tests.hostile.identity import RECORDINGS_FILE, Identity
from tests.hostile.neighbour import Neighbour
from tests.hostile.phase import Phase
from tests.hostile.recording import Recordings
from tests.hostile.verdict import complaints
from tests.node.harness.batches import batch_of
from tests.workload.appenders import Appenders
from tests.workload.history import now_ns
from tests.workload.verdict import judge

ALLOWANCE_BYTES = 3 * QUEUED_MAX_REQUEST_BYTES + 2 * DEFAULT_MAX_DECOMPRESSED_BYTES
"""Memory that the limits of a node let other clients take for a while, whatever the node takes without them:
`queued.max.request.bytes` each of requests in flight, of large frames received in part, and of responses; and a
decompressed batch on each of the two threads that read records, one to check appends and one to search timestamps."""

_FILLING_BYTES = 1 << 20
_FILLINGS = 12
"""As many batches are in the log before the run, for clients that read 8 MiB."""

_VALUE_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Options of a run.

    Fields:
        seed: decides what the neighbour sends.
        duration_s: length of each of the three phases.
        clients: how many append.
        identity: who the neighbour is, and so whether the quorum is secured.
        attacks: names of the attacks to run; empty for all.
        planted_bug: a name in `tests.harness.planted.SECURITY_BUGS`; None for none.
    """

    seed: int
    duration_s: float
    identity: Identity = Identity.ANYONE
    clients: int = 4
    attacks: Sequence[str] = ()
    planted_bug: str | None = None


def run(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures | None]:
    """Do the run. If it ends early, because a node has done what it must not do, there are no figures.

    Args:
        plan: the options.
        folder: exists; the configurations, logs and output of the nodes stay there.
        tell: see `Run`.
    """
    current, figures = Run(folder, tell), None
    with running_quorum(folder, plan.identity, command=serve_with(plan.planted_bug)) as quorum:
        _fill(quorum)
        Recordings.of(quorum.settings()).save(folder / RECORDINGS_FILE)
        quorum.put_snapshots()
        appenders = Appenders(quorum.honest_client, count=plan.clients, value_bytes=_VALUE_BYTES)
        with current.to_its_end():
            figures = _phases(plan, quorum, appenders)
            quorum.settle()
        current.look_at(quorum)
        quorum.kill()
        quorum.remove_snapshots()
        newest = current.log_of(quorum, always_compares=True)
    if figures is not None:
        current.complain(complaints(figures, allowance_bytes=ALLOWANCE_BYTES))
        if plan.identity is Identity.STRANGER:
            current.complain(records_of_others(newest, appenders.names, Offset(figures.quiet_end.end_offset)))
    verdict = judge(appenders.history, values_of(newest, appenders.names), complaints=current.complaints)
    return Outcome(figures=figures, verdict=verdict)


def _phases(plan: Plan, quorum: AttackedQuorum, appenders: Appenders) -> Figures:
    begin = quorum.observe()
    history = appenders.history
    with appenders:
        quiet_begin_ns = now_ns()
        time.sleep(plan.duration_s)
        quiet_end_ns = now_ns()
        quiet_end = quorum.observe()
        scene = quorum.scene(plan.identity, *quiet_end.leader)
        with Neighbour(scene, seed=plan.seed, duration_s=plan.duration_s, attacks=plan.attacks) as neighbour:
            neighbour.wait_until_it_begins()
            hostile_begin_ns = now_ns()
            tally = neighbour.tally()
            hostile_end_ns = now_ns()
        end = quorum.observe()
        with Burner(duration_s=plan.duration_s, processor_s=tally.processor_s) as burner:
            burner.wait_until_it_begins()
            control_begin_ns = now_ns()
            burner.wait_until_it_ends()
            control_end_ns = now_ns()
    appends = history.appends
    return Figures(
        identity=plan.identity,
        quiet=Phase.of(appends, begin_ns=quiet_begin_ns, end_ns=quiet_end_ns),
        hostile=Phase.of(appends, begin_ns=hostile_begin_ns, end_ns=hostile_end_ns),
        control=Phase.of(appends, begin_ns=control_begin_ns, end_ns=control_end_ns),
        begin=begin,
        quiet_end=quiet_end,
        end=end,
        tally=tally,
    )


def _fill(quorum: AttackedQuorum) -> None:
    with quorum.honest_client() as client:
        for _ in range(_FILLINGS):
            client.append(batch_of(bytes(_FILLING_BYTES)))
