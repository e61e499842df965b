"""One run: honest clients append, alone, beside the hostile neighbour, and beside a process that only uses as much
processor time as the neighbour did; then the log is checked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from raft.errors import RaftError
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from raft.types import Offset
from tests.hostile.committed import records_of_others, values_of
from tests.hostile.control import Burner
from tests.hostile.identity import RECORDINGS_FILE, Identity
from tests.hostile.neighbour import Neighbour
from tests.hostile.outcome import Outcome
from tests.hostile.phase import Phase
from tests.hostile.quorum import QUEUED_MAX_REQUEST_BYTES, Quorum, running_quorum
from tests.hostile.recording import Recordings
from tests.hostile.verdict import complaints
from tests.node.harness.batches import batch_of
from tests.workload.appenders import Appenders
from tests.workload.history import now_ns
from tests.workload.replica import Replica, differences
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
    """

    seed: int
    duration_s: float
    identity: Identity = Identity.ANYONE
    clients: int = 4
    attacks: Sequence[str] = ()


def run(plan: Plan, folder: Path) -> Outcome:
    """Do the run; the configurations, logs and output of the nodes stay in `folder`.

    Raises:
        AssertionError, RaftError: the quorum or the attacker does not work at all.
    """
    with running_quorum(folder, plan.identity) as quorum:
        _fill(quorum)
        Recordings.of(quorum.settings()).save(folder / RECORDINGS_FILE)
        quorum.put_snapshots()
        appenders = Appenders(quorum.honest_client, count=plan.clients, value_bytes=_VALUE_BYTES)
        outcome = _phases(plan, quorum, appenders)
        wrong: list[str] = []
        try:
            quorum.settle()
        except (AssertionError, RaftError) as error:
            wrong.append(f"the replicas do not become equal: {error}")
        wrong += quorum.complaints()
        quorum.kill()
        replicas = {node_id: Replica.read(node.log_dir) for node_id, node in quorum.nodes.items()}
    wrong += differences(replicas)
    newest = max(replicas.values(), key=lambda replica: replica.end)
    wrong += judge(appenders.history, values_of(newest, appenders.names)).sentences
    if plan.identity is Identity.STRANGER:
        wrong += records_of_others(newest, appenders.names, Offset(outcome.quiet_end.end_offset))
    wrong += complaints(outcome, allowance_bytes=ALLOWANCE_BYTES)
    return replace(outcome, wrong=wrong)


def _phases(plan: Plan, quorum: Quorum, appenders: Appenders) -> Outcome:
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
    return Outcome(
        identity=plan.identity,
        quiet=Phase.of(appends, begin_ns=quiet_begin_ns, end_ns=quiet_end_ns),
        hostile=Phase.of(appends, begin_ns=hostile_begin_ns, end_ns=hostile_end_ns),
        control=Phase.of(appends, begin_ns=control_begin_ns, end_ns=control_end_ns),
        begin=begin,
        quiet_end=quiet_end,
        end=end,
        tally=tally,
    )


def _fill(quorum: Quorum) -> None:
    with quorum.honest_client() as client:
        for _ in range(_FILLINGS):
            client.append(batch_of(bytes(_FILLING_BYTES)))
