"""One run of a quorum with `cleanup.policy=compact`: clients write under keys while faults are injected and logs cut.

Readers read the whole log all the time. At the end the state, as clients and as the files of each node have it, is
compared with what was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from raft.records.batch import read_records
from raft.records.batches import read_batches
from raft.records.record import Record
from tests.harness.clients.state_readers import LibrdkafkaStateReader, OurStateReader, StateReader
from tests.harness.clients.state_writer import StateWriter
from tests.harness.figures import fault_counts, rows_of_faults, table
from tests.harness.outcome import Outcome
from tests.harness.quorum import IMPATIENT_MS, PATIENT_MS, Quorum, running_quorum
from tests.harness.quorum_checks import leader_changes, wrong_after_stop
from tests.harness.run import Run, Tell
from tests.soak.crowd import outsiders
from tests.soak.nemesis import QuorumNemesis
from tests.soak.plan import Plan
from tests.workload.history import History
from tests.workload.state_model import StateModel, state_of
from tests.workload.verdict import Verdict
from tests.workload.worker import running, stop

SETTINGS = {
    "cleanup.policy": "compact",
    "metadata.log.max.record.bytes.between.snapshots": "100000",
    "metadata.max.retention.bytes": "300000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""A snapshot every second or so, and as often a cut."""

_LONGEST_PAUSE_S = 0.02
_JOIN_S = 60.0
_MADE = re.compile(r"made a snapshot of \d+ bytes")
_CUT = re.compile(r"the log begins at offset \d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedFigures:
    """Counts of a run.

    Fields:
        leader_changes: leaders that were elected after the first one.
        acknowledged, unknown: records that were acknowledged, and that were not.
        snapshots, cuts: how many all nodes have made.
        whole_reads: how often a client has read the log from its beginning to its end.
        keys: how many there are at the end.
        log_bytes: size of logs and snapshots of all nodes at the end.
        faults: how many of each kind.
    """

    leader_changes: int
    acknowledged: int
    unknown: int
    snapshots: int
    cuts: int
    whole_reads: int
    keys: int
    log_bytes: int
    faults: Mapping[str, int]

    def __str__(self) -> str:
        return table(
            [
                (self.leader_changes, "leader changes"),
                (self.acknowledged, f"records acknowledged, {self.unknown} of unknown outcome"),
                (self.snapshots, f"snapshots made, {self.cuts} cuts"),
                (self.whole_reads, "reads of the whole log"),
                (self.keys, f"keys at the end, in {self.log_bytes} bytes of logs and snapshots of all nodes"),
                (sum(self.faults.values()), "faults:"),
                *rows_of_faults(self.faults),
            ]
        )


def run_compacted(plan: Plan, folder: Path, tell: Tell) -> Outcome[CompactedFigures]:
    """Do the run.

    Args:
        plan: the options.
        folder: exists; the logs and output of the nodes and a list of the faults stay there.
        tell: gets a line after each fault.
    """
    history, model, current = History(), StateModel(), Run(folder, tell)
    with running_quorum(folder, SETTINGS, is_secured=plan.secures, command=plan.command) as quorum:
        with current.to_its_end():
            _run_under_faults(plan, quorum, history, model, current)
        quorum.kill()
    states = {node.name: state_of(records_on_disk(node.partition)) for node in quorum.nodes.values()}
    current.complain([*history.complaints, *wrong_after_stop(quorum), *model.complaints(states)])
    outputs = [node.output for node in quorum.nodes.values()]
    figures = CompactedFigures(
        leader_changes=leader_changes(quorum),
        acknowledged=model.acknowledged_count,
        unknown=model.unknown_count,
        snapshots=sum(len(_MADE.findall(output)) for output in outputs),
        cuts=sum(len(_CUT.findall(output)) for output in outputs),
        whole_reads=len(model.reads),
        keys=len(states[quorum.nodes[1].name]),
        log_bytes=sum(_log_bytes(node.partition) for node in quorum.nodes.values()),
        faults=fault_counts(current.ended),
    )
    return Outcome(figures=figures, verdict=Verdict(lost=(), doubled=(), broken=current.complaints))


def records_on_disk(partition: Path) -> list[Record]:
    """Return the records of the snapshot at which a log begins, and those of the log."""
    segments = sorted(partition.glob("*.log"))
    snapshots = partition.glob(f"{segments[0].stem}-*.checkpoint")
    return [record for file in (*snapshots, *segments) for record in _data_records(file.read_bytes())]


def _data_records(content: bytes) -> Iterator[Record]:
    for batch in read_batches(content):
        if not batch.header.is_control:
            yield from read_records(batch.payload)


def _log_bytes(partition: Path) -> int:
    return sum(path.stat().st_size for path in partition.iterdir() if path.suffix in (".log", ".checkpoint"))


def _run_under_faults(plan: Plan, quorum: Quorum, history: History, model: StateModel, current: Run) -> None:
    """Run clients and inject faults; return when no client writes, and all replicas are equal."""
    writers = [_writer(plan, number, quorum, history, model) for number in range(plan.writers)]
    readers = _readers(plan, quorum, history, model)
    workers = (*writers, *readers, *outsiders(quorum, history, seed=plan.seed))
    with running(workers, longest_end_s=_JOIN_S):
        nemesis = QuorumNemesis(
            plan,
            quorum,
            current,
            progress=lambda: f"{model.acknowledged_count:7} records",
            count_appends=lambda: model.acknowledged_count,
        )
        nemesis.inject_for(plan.duration_s)
        stop(workers, within_s=_JOIN_S)
    quorum.settle()
    for reader in readers:
        reader.read_at_end()
    current.look_at(quorum)


def _writer(plan: Plan, number: int, quorum: Quorum, history: History, model: StateModel) -> StateWriter:
    is_patient = number % 2 == 0
    return StateWriter(
        f"{'patient' if is_patient else 'impatient'}{number}",
        history,
        model,
        quorum.settings(api_timeout_ms=PATIENT_MS if is_patient else IMPATIENT_MS),
        Random(f"{plan.seed}-{number}"),
        longest_pause_s=_LONGEST_PAUSE_S,
    )


def _readers(plan: Plan, quorum: Quorum, history: History, model: StateModel) -> Sequence[StateReader]:
    settings = quorum.settings(api_timeout_ms=PATIENT_MS)
    return (
        OurStateReader("ours", history, model, Random(f"{plan.seed}-ours"), settings),
        LibrdkafkaStateReader(
            "librdkafka", history, model, Random(f"{plan.seed}-librdkafka"), quorum.librdkafka_settings()
        ),
    )
