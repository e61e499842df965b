"""One run of a quorum with `cleanup.policy=compact`: clients write under keys while faults are injected and logs cut.

Readers read the whole log all the time. At the end the state, as clients and as the files of each node have it, is
compared with what was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from subprocess import SubprocessError

from raft.errors import RaftError
from raft.records.batch import read_records
from raft.records.batches import read_batches
from raft.records.record import Record
from tests.soak.clients.state_readers import LibrdkafkaStateReader, OurStateReader, StateReader
from tests.soak.clients.state_writer import StateWriter
from tests.soak.crowd import outsiders
from tests.soak.nemesis import EndedFault, Nemesis
from tests.soak.quorum import PATIENT_MS, Quorum, running_quorum
from tests.soak.run import Plan
from tests.workload.history import History
from tests.workload.state_model import StateModel, state_of
from tests.workload.verdict import Verdict

SETTINGS = {
    "cleanup.policy": "compact",
    "metadata.log.max.record.bytes.between.snapshots": "100000",
    "metadata.max.retention.bytes": "300000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""A snapshot every second or so, and as often a cut."""

_IMPATIENT_MS = 1_500
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
        rows = [
            (f"{self.leader_changes}", "leader changes"),
            (f"{self.acknowledged}", f"records acknowledged, {self.unknown} of unknown outcome"),
            (f"{self.snapshots}", f"snapshots made, {self.cuts} cuts"),
            (f"{self.whole_reads}", "reads of the whole log"),
            (f"{self.keys}", f"keys at the end, in {self.log_bytes} bytes of logs and snapshots of all nodes"),
            (f"{sum(self.faults.values())}", "faults:"),
            *((f"{count}", f"  {kind}") for kind, count in self.faults.items()),
        ]
        return "\n".join(f"{figure:>10}  {what}" for figure, what in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedOutcome:
    """The result of a run."""

    figures: CompactedFigures
    verdict: Verdict


def run_compacted(plan: Plan, folder: Path, tell: Callable[[str], None]) -> CompactedOutcome:
    """Do the run.

    Args:
        plan: the options.
        folder: exists; the logs and output of the nodes stay there.
        tell: gets a line after each fault.
    """
    history, model = History(), StateModel()
    ended: list[EndedFault] = []
    complaints: list[str] = []
    with running_quorum(folder, SETTINGS, is_secured=plan.secures, command=plan.command) as quorum:

        def note(fault: EndedFault) -> None:
            ended.append(fault)
            tell(f"{fault.at_s:6.1f} s  {model.acknowledged_count:7} records  {fault.kind}: {fault.what}")

        try:
            _run_under_faults(plan, quorum, history, model, note)
        except (AssertionError, RaftError, SubprocessError) as error:
            complaints.append(f"the run ended early: {error}")
        quorum.kill()
    states = {node.name: state_of(records_on_disk(node.partition)) for node in quorum.nodes.values()}
    complaints += [*history.complaints, *quorum.complaints(), *model.complaints(states)]
    outputs = [node.output for node in quorum.nodes.values()]
    kinds = [fault.kind for fault in ended]
    figures = CompactedFigures(
        leader_changes=quorum.leader_changes(),
        acknowledged=model.acknowledged_count,
        unknown=model.unknown_count,
        snapshots=sum(len(_MADE.findall(output)) for output in outputs),
        cuts=sum(len(_CUT.findall(output)) for output in outputs),
        whole_reads=len(model.reads),
        keys=len(states[quorum.nodes[1].name]),
        log_bytes=sum(_log_bytes(node.partition) for node in quorum.nodes.values()),
        faults={kind: kinds.count(kind) for kind in sorted(set(kinds))},
    )
    return CompactedOutcome(figures=figures, verdict=Verdict(lost=(), doubled=(), broken=complaints))


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


def _run_under_faults(
    plan: Plan, quorum: Quorum, history: History, model: StateModel, note: Callable[[EndedFault], None]
) -> None:
    """Run clients and inject faults; return when no client writes, and all replicas are equal."""
    writers = [_writer(plan, number, quorum, history, model) for number in range(plan.writers)]
    readers = _readers(plan, quorum, history, model)
    others = outsiders(quorum, history, seed=plan.seed)
    for worker in (*writers, *readers, *others):
        worker.start()
    try:
        nemesis = Nemesis(
            quorum,
            only=plan.only,
            seed=plan.seed,
            longest_fault_s=plan.longest_fault_s,
            count_appends=lambda: model.acknowledged_count,
            tell=note,
        )
        nemesis.inject_faults(plan.duration_s)
    finally:
        for worker in (*writers, *readers, *others):
            worker.ask_to_stop()
    for worker in (*writers, *readers, *others):
        worker.join(_JOIN_S)
    quorum.settle()
    for reader in readers:
        reader.read_at_end()


def _writer(plan: Plan, number: int, quorum: Quorum, history: History, model: StateModel) -> StateWriter:
    is_patient = number % 2 == 0
    return StateWriter(
        f"{'patient' if is_patient else 'impatient'}{number}",
        history,
        model,
        quorum.settings(api_timeout_ms=PATIENT_MS if is_patient else _IMPATIENT_MS),
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
