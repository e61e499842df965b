"""One run: a query copies rows from one quorum into another under faults; then all rows are compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import SubprocessError

from raft.errors import RaftError
from raft.types import Batch
from tests.fire.application import Checksums, checksums_of, read_rows
from tests.fire.committed_rows import committed_rows
from tests.fire.comparison import differences_of, judge
from tests.fire.ends import watched_end, wrong_ends
from tests.fire.faults import FAULTS
from tests.fire.feeder import Feeder
from tests.fire.figures import Figures, count_faults
from tests.fire.live_consumer import LiveConsumer
from tests.fire.logged_writes import LoggedWrites, Rows
from tests.fire.nemesis import EndedFault, Nemesis
from tests.fire.stage import Stage, prepared_stage
from tests.java.librdkafka import consume
from tests.soak.quorum import SECURITY_FOLDER, Quorum
from tests.soak.quorum_security import PASSWORDS
from tests.workload.replica import Replica, differences
from tests.workload.verdict import Verdict
from tests.workload.visible_log import VisibleLog

FORMAT = "kraft"
_LEAST_WRITES_OF_A_KIND = 3
_FAULTS = "faults.txt"
_FIRST_BATCHES = 3
_START_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Options of a run.

    Fields:
        faults: how many.
        seed: decides the faults and what is written, but not how processes interleave.
        kinds: the kinds of faults.
        sink_format: the data source of the sink.

    With an odd seed both quorums are secured: the query, the feeder and the readers use SCRAM over TLS.
    """

    faults: int
    seed: int
    kinds: tuple[str, ...] = tuple(FAULTS)
    sink_format: str = FORMAT

    @property
    def is_secured(self) -> bool:
        """Whether both quorums are secured."""
        return self.seed % 2 == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a run."""

    figures: Figures
    verdict: Verdict


@dataclass(slots=True)
class _Seen:
    """What was seen of a run.

    Fields:
        ended: the faults.
        complaints: what went wrong.
        rows: the rows of readers of each log, by the name of the log and of the reader.
        checksums: the same of readers that know checksums only.
        ends: how many reads of the end of each log were answered.
        duration_s: from the start of the driver until all readers have read everything.
        is_complete: whether the run did not end early.
    """

    ended: list[EndedFault] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    rows: dict[str, dict[str, Rows]] = field(default_factory=lambda: {"source": {}, "sink": {}})
    checksums: dict[str, dict[str, Checksums]] = field(default_factory=lambda: {"source": {}, "sink": {}})
    ends: dict[str, int] = field(default_factory=dict)
    duration_s: float = 0.0
    is_complete: bool = False


def run(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Outcome:
    """Do the run.

    Args:
        plan: the options.
        folder: empty; the logs, the output of all processes and a list of the faults stay there.
        tell: gets a line after each fault.
    """
    seen = _Seen()
    with (
        prepared_stage(folder, sink_format=plan.sink_format, is_secured=plan.is_secured) as stage,
        watched_end(stage.source, name="source", seed=plan.seed) as source_reads,
        watched_end(stage.sink, name="sink", seed=plan.seed) as sink_reads,
        _fed(stage, plan.seed) as (feeder, consumer),
        (folder / _FAULTS).open("w") as faults,
    ):

        def note(fault: EndedFault) -> None:
            seen.ended.append(fault)
            line = _line(fault, stage)
            print(line, file=faults, flush=True)
            tell(line)

        started_s = time.monotonic()
        try:
            stage.driver.wait_for_progress(_FIRST_BATCHES, within_s=_START_S)
            Nemesis(stage, kinds=plan.kinds, seed=plan.seed, tell=note).strike(plan.faults)
            feeder.stop()
            stage.driver.finish()
            _read(stage, folder, consumer, seen)
            seen.is_complete = True
        except (AssertionError, RaftError, SubprocessError, TimeoutError) as error:
            seen.complaints.append(f"the run ended early: {error}")
        seen.duration_s = time.monotonic() - started_s
    for worker in (feeder, consumer):
        if worker.error is not None:
            seen.complaints.append(f"{type(worker).__name__} ended early: {worker.error!r}")
    batches = {name: _logged(name, stage.quorum(name), seen) for name in ("source", "sink")}
    logs = {name: LoggedWrites.of(logged) for name, logged in batches.items()}
    for name, history, fed in (("source", source_reads, feeder.writes), ("sink", sink_reads, [])):
        seen.ends[name] = len(history.reads)
        transactions = VisibleLog.of(batches[name]).transactions
        wrong = [*history.complaints, *wrong_ends(history.reads, transactions, fed, logs[name].rows)]
        seen.complaints += [f"{name}: {each}" for each in wrong]
    for name, log in logs.items():
        seen.complaints += [f"{name}: {each}" for each in differences_of(seen.rows[name], log.rows)]
        seen.complaints += [f"{name}: {each}" for each in differences_of(seen.checksums[name], checksums_of(log.rows))]
    seen.complaints += [*_one_sided(logs["sink"]), *_secrets_in(folder)]
    verdict = judge(feeder.writes, logs["source"], logs["sink"], complaints=seen.complaints)
    return Outcome(figures=_figures(stage, feeder, seen, logs), verdict=verdict)


@contextmanager
def _fed(stage: Stage, seed: int) -> Iterator[tuple[Feeder, LiveConsumer]]:
    feeder = Feeder(stage.source.options(), seed)
    consumer = LiveConsumer(stage.sink.librdkafka_settings())
    try:
        yield feeder, consumer
    finally:
        feeder.ask_to_stop()
        consumer.stop()


def _read(stage: Stage, folder: Path, consumer: LiveConsumer, seen: _Seen) -> None:
    """Let every reader read both logs, which no client writes any more."""
    for name in ("source", "sink"):
        quorum = stage.quorum(name)
        quorum.settle()
        with quorum.client() as client:
            seen.rows[name]["our client"] = committed_rows(client)
        settings = quorum.librdkafka_settings() | {"isolation.level": "read_committed", "check.crcs": True}
        consumed = consume(quorum.bootstrap_servers, None, settings)
        seen.rows[name]["librdkafka"] = [(record.offset, record.value or b"") for record in consumed]
        seen.checksums[name]["Spark's batch read"] = read_rows(folder, name)
    last_offset = seen.rows["sink"]["librdkafka"][-1][0]
    seen.rows["sink"]["librdkafka under the faults"] = consumer.read_to(last_offset)


def _logged(name: str, quorum: Quorum, seen: _Seen) -> Sequence[Batch]:
    """Return the log of a quorum that does not run any more."""
    replicas = {node_id: Replica.read(node.log_dir) for node_id, node in quorum.nodes.items()}
    seen.complaints += [f"{name}: {each}" for each in quorum.complaints()]
    if seen.is_complete:
        seen.complaints += [f"{name}: {each}" for each in differences(replicas)]
    # All logs are equal, unless the run ended early. Then the newest one has every committed record.
    return max(replicas.values(), key=lambda replica: replica.end).batches


def _one_sided(sink: LoggedWrites) -> Iterator[str]:
    for what, count in (("in one batch", sink.single_batches), ("in parts", sink.multipart_writes)):
        if count < _LEAST_WRITES_OF_A_KIND:
            yield f"the sink has {count} writes {what}, expected {_LEAST_WRITES_OF_A_KIND} or more: the run shows less"


def _secrets_in(folder: Path) -> Iterator[str]:
    """Name the files of the processes that have the password of a user, but for those that exist to hold it."""
    secret = PASSWORDS.encode()
    for path in folder.rglob("*"):
        if path.is_file() and SECURITY_FOLDER not in path.parts and secret in path.read_bytes():
            yield f"{path} has a password"


def _figures(stage: Stage, feeder: Feeder, seen: _Seen, logs: Mapping[str, LoggedWrites]) -> Figures:
    faults, slowest_recovery_s = count_faults(seen.ended)
    readers = {
        f"{reader}, {name}": len(rows)
        for found in (seen.rows, seen.checksums)
        for name, by_reader in found.items()
        for reader, rows in by_reader.items()
    }
    fed = [write for write in feeder.writes if write.is_acknowledged]
    return Figures(
        duration_s=seen.duration_s,
        faults=faults,
        slowest_recovery_s=slowest_recovery_s,
        driver_runs=stage.driver.runs,
        failed_queries=stage.driver.failed,
        micro_batches=stage.driver.committed_batches(),
        leader_changes={name: stage.quorum(name).leader_changes() for name in ("source", "sink")},
        repeated_appends=feeder.repetitions,
        fed_writes=len(fed),
        fed_rows=sum(write.count for write in fed),
        source=logs["source"],
        sink=logs["sink"],
        readers=readers,
        ends=seen.ends,
    )


def _line(fault: EndedFault, stage: Stage) -> str:
    recovery = (
        "the next fault strikes at once" if fault.recovery_s is None else f"recovered in {fault.recovery_s:.1f} s"
    )
    return (
        f"{fault.at_s:6.1f} s  {stage.driver.committed_batches():5} micro-batches  driver {stage.driver.runs:2}  "
        f"{fault.kind}: {fault.what}; {recovery}"
    )
