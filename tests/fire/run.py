"""One run: a query copies rows from one quorum into another under faults; then all rows are compared."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fire.application import Checksums, checksums_of, read_rows
from tests.fire.comparison import differences_of, judge
from tests.fire.ends import wrong_ends
from tests.fire.faults import FAULTS
from tests.fire.figures import Figures
from tests.fire.load import LONGEST_END_S, Load
from tests.fire.logged_writes import LoggedWrites, Rows
from tests.fire.nemesis import StageNemesis
from tests.fire.stage import Stage, prepared_stage
from tests.harness.figures import fault_counts, slowest_recovery_s
from tests.harness.leaks import passwords_in
from tests.harness.outcome import Outcome
from tests.harness.quorum import SECURITY_FOLDER
from tests.harness.quorum_checks import leader_changes
from tests.harness.run import Run, Tell
from tests.java.librdkafka import consume
from tests.workload.committed import committed_rows
from tests.workload.visible_log import VisibleLog
from tests.workload.worker import running

FORMAT = "kraft"
_LEAST_WRITES_OF_A_KIND = 3
_FIRST_BATCHES = 3
_LOGS = ("source", "sink")
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


@dataclass(slots=True)
class _Seen:
    """What readers have seen.

    Fields:
        rows: the rows of readers of each log, by the name of the log and of the reader.
        checksums: the same of readers that know checksums only.
        duration_s: from the start of the driver until all readers have read everything.
    """

    rows: dict[str, dict[str, Rows]] = field(default_factory=lambda: {name: {} for name in _LOGS})
    checksums: dict[str, dict[str, Checksums]] = field(default_factory=lambda: {name: {} for name in _LOGS})
    duration_s: float = 0.0


def run(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures]:
    """Do the run.

    Args:
        plan: the options.
        folder: empty; the logs, the output of all processes and a list of the faults stay there.
        tell: gets a line after each fault.
    """
    current, seen = Run(folder, tell), _Seen()
    with prepared_stage(folder, sink_format=plan.sink_format, is_secured=plan.is_secured) as stage:
        load, started_s = Load(stage, plan.seed), time.monotonic()
        with running(load.workers, longest_end_s=LONGEST_END_S):
            with current.to_its_end():
                _run_under_faults(plan, stage, load, current)
                _read(stage, folder, load, seen)
                for name in _LOGS:
                    current.look_at(stage.quorum(name), name=name)
            seen.duration_s = time.monotonic() - started_s
    current.complain(load.complaints)
    batches = {name: current.log_of(stage.quorum(name), name=name).batches for name in _LOGS}
    logs = {name: LoggedWrites.of(logged) for name, logged in batches.items()}
    for name, log in logs.items():
        history, fed = load.ends[name], load.feeder.writes if name == "source" else []
        transactions = VisibleLog.of(batches[name]).transactions
        current.complain(history.complaints, of=name)
        current.complain(wrong_ends(history.reads, transactions, fed, log.rows), of=name)
        current.complain(differences_of(seen.rows[name], log.rows), of=name)
        current.complain(differences_of(seen.checksums[name], checksums_of(log.rows)), of=name)
    current.complain([*_one_sided(logs["sink"]), *passwords_in(folder, but_in=SECURITY_FOLDER)])
    verdict = judge(load.feeder.writes, logs["source"], logs["sink"], complaints=current.complaints)
    return Outcome(figures=_figures(stage, load, current, seen, logs), verdict=verdict)


def _run_under_faults(plan: Plan, stage: Stage, load: Load, current: Run) -> None:
    """Inject faults; return when no client writes, and the query has copied everything."""
    stage.driver.wait_for_progress(_FIRST_BATCHES, within_s=_START_S)
    StageNemesis(stage, current, kinds=plan.kinds, seed=plan.seed).inject(plan.faults)
    load.stop_feeder()
    stage.driver.finish()


def _read(stage: Stage, folder: Path, load: Load, seen: _Seen) -> None:
    """Let every reader read both logs, which no client writes any more."""
    for name in _LOGS:
        quorum = stage.quorum(name)
        quorum.settle()
        with quorum.client() as client:
            seen.rows[name]["our client"] = committed_rows(client)
        settings = quorum.librdkafka_settings() | {"isolation.level": "read_committed", "check.crcs": True}
        consumed = consume(quorum.bootstrap_servers, None, settings)
        seen.rows[name]["librdkafka"] = [(record.offset, record.value or b"") for record in consumed]
        seen.checksums[name]["Spark's batch read"] = read_rows(folder, name)
    last_offset = seen.rows["sink"]["librdkafka"][-1][0]
    seen.rows["sink"]["librdkafka under the faults"] = load.rows_of_consumer(last_offset)
    load.stop_readers()


def _one_sided(sink: LoggedWrites) -> Iterator[str]:
    for what, count in (("in one batch", sink.single_batches), ("in parts", sink.multipart_writes)):
        if count < _LEAST_WRITES_OF_A_KIND:
            yield f"the sink has {count} writes {what}, expected {_LEAST_WRITES_OF_A_KIND} or more: the run shows less"


def _figures(stage: Stage, load: Load, current: Run, seen: _Seen, logs: Mapping[str, LoggedWrites]) -> Figures:
    readers = {
        f"{reader}, {name}": len(rows)
        for found in (seen.rows, seen.checksums)
        for name, by_reader in found.items()
        for reader, rows in by_reader.items()
    }
    fed = [write for write in load.feeder.writes if write.is_acknowledged]
    return Figures(
        duration_s=seen.duration_s,
        faults=fault_counts(current.ended),
        slowest_recovery_s=slowest_recovery_s(current.ended),
        driver_runs=stage.driver.runs,
        failed_queries=stage.driver.failed,
        micro_batches=stage.driver.committed_batches(),
        leader_changes={name: leader_changes(stage.quorum(name)) for name in _LOGS},
        repeated_appends=load.feeder.repetitions,
        fed_writes=len(fed),
        fed_rows=sum(write.count for write in fed),
        source=logs["source"],
        sink=logs["sink"],
        readers=readers,
        ends={name: len(history.reads) for name, history in load.ends.items()},
    )
