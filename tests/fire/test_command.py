"""The command prints figures and verdict; feeder and readers agree about a quorum without faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasource.write_task import MESSAGE_BYTES
from raft.types import Offset
from tests.fire import __main__ as command
from tests.fire.comparison import differences_of
from tests.fire.feeder import Feeder
from tests.fire.figures import Figures
from tests.fire.logged_writes import LoggedWrites
from tests.fire.run import Plan
from tests.harness.clients.librdkafka import LibrdkafkaReader
from tests.harness.outcome import Outcome
from tests.harness.run import Tell
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_quorum import NodeQuorum
from tests.workload.committed import committed_rows
from tests.workload.history import History
from tests.workload.replica import Replica
from tests.workload.verdict import Verdict
from tests.workload.worker import running, stop

_JOIN_S = 120.0
_LOG = LoggedWrites(writes=[], aborted_parts=2, aborted_rows=30, complaints=[])
_FIGURES = Figures(
    duration_s=90.0,
    faults={"driver killed": 2, "executor killed": 1},
    slowest_recovery_s=12.34,
    driver_runs=3,
    failed_queries=["run 2: it failed"],
    micro_batches=70,
    leader_changes={"source": 4, "sink": 5},
    repeated_appends=6,
    fed_writes=9,
    fed_rows=40,
    source=_LOG,
    sink=_LOG,
    readers={"librdkafka, sink": 8},
    ends={"source": 12},
)


@pytest.mark.parametrize(
    ("verdict", "exit_code"),
    [
        pytest.param(Verdict(lost=[], doubled=[], broken=[]), 0, id="in = out"),
        pytest.param(Verdict(lost=[], doubled=["A is doubled"], broken=[]), 1, id="a row is doubled"),
    ],
)
def test_command_prints_figures_and_verdict_and_keeps_the_files_of_a_run_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdict: Verdict, exit_code: int
) -> None:
    seen: list[tuple[Plan, Path]] = []

    def pretend(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures]:
        seen.append((plan, folder))
        tell("a fault")
        return Outcome(figures=_FIGURES, verdict=verdict)

    monkeypatch.setattr(command, "run", pretend)

    assert command.main(["--faults", "3", "--seed", "9"]) == exit_code

    ((plan, folder),) = seen
    said = capsys.readouterr().out
    assert plan == Plan(faults=3, seed=9, sink_format="kraft")
    assert said.startswith("a fault\n")
    assert "       1.5  minutes\n         3  faults\n         2    driver killed\n" in said
    assert "         2  restarts of the driver\n" in said
    assert "        40  rows fed into the source, in 9 writes\n" in said
    assert "         2  aborted parts in the sink, with 30 rows\n" in said
    assert "        12  reads of the end of the source\n" in said
    assert "failed: run 2: it failed\n" in said
    assert f"lost 0, doubled {len(verdict.doubled)}, invariants broken 0\n" in said
    assert folder.exists() is (str(folder) in said) is (exit_code == 1)
    if exit_code:
        assert "A is doubled\n" in said
        assert "again: python -m tests.fire --faults 3 --seed 9" in said
        folder.rmdir()


def test_readers_find_what_the_feeder_has_written_in_batches_and_in_parts(tmp_path: Path) -> None:
    history = History()
    with NodeQuorum(tmp_path, voters_properties(tmp_path, voters=1)).start() as quorum:
        consumer = LibrdkafkaReader("librdkafka", history, {"bootstrap.servers": quorum.bootstrap_servers})
        feeder = Feeder("feeder", history, {"kraft.bootstrap.servers": quorum.bootstrap_servers}, seed=1)
        with running([consumer, feeder], longest_end_s=_JOIN_S):
            eventually(
                lambda: history.complaints or _has_large_write(feeder), "a large write", within_s=60, every_s=0.1
            )
            stop([feeder], within_s=_JOIN_S)
            with quorum.client() as client:
                rows = committed_rows(client)
            consumer.read_to(rows[-1][0])
            consumer.join(_JOIN_S)
        quorum.kill()
        log = LoggedWrites.of(Replica.read(quorum.nodes[1].log_dir).batches)
    consumed = [record for read in history.reads for record in read.records]

    assert not history.complaints
    assert [value for _, value in rows] == [value for write in feeder.writes for value in write.values()]
    assert not [*differences_of({"our client": rows, "librdkafka": consumed}, log.rows)]
    assert log.single_batches
    assert log.multipart_writes
    assert not log.complaints
    assert all(write.is_acknowledged for write in feeder.writes)
    assert Offset(0) not in dict(rows), "the log begins with a leader change"


def _has_large_write(feeder: Feeder) -> bool:
    return any(write.count * write.row_bytes > 2 * MESSAGE_BYTES for write in feeder.writes[:-1])


def test_kinds_of_faults_can_be_chosen_and_the_sink_can_have_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def pretend(plan: Plan, folder: Path, _tell: Tell) -> Outcome[Figures]:
        plans.append(plan)
        return Outcome(figures=_FIGURES, verdict=Verdict(lost=[], doubled=[], broken=[]))

    monkeypatch.setattr(command, "run", pretend)

    assert command.main(["--only", "killed at a part", "--planted-bug", "doubles"]) == 0

    kinds = (
        "executor killed at a part",
        "Python processes killed at a part",
        "driver killed at a part",
        "leader of the sink killed at a part",
    )
    assert plans == [Plan(faults=40, seed=1, kinds=kinds, sink_format="kraft_without_lasting_key")]


def test_unknown_kind_of_fault_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--only", "earthquake"])

    assert "--only earthquake: expected a part of one of: executor killed, " in capsys.readouterr().err
