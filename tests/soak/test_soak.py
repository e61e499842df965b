"""A short soak with every kind of fault once; and the output of the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from raft.types import Offset
from tests.harness.outcome import Outcome
from tests.harness.run import Tell
from tests.harness.security_faults import SECURITY_FAULTS
from tests.processes.endings import left_behind
from tests.soak import __main__ as command
from tests.soak.compacted_run import CompactedFigures, run_compacted
from tests.soak.figures import Figures
from tests.soak.plan import FAULTS, Plan
from tests.soak.run import run
from tests.workload.history import Append, History, Read, Transaction
from tests.workload.verdict import Verdict

SHORT = Plan(seed=7, duration_s=0, longest_fault_s=1.6)
FIGURES = Figures(
    leader_changes=3,
    acknowledged=400,
    unknown=5,
    unknown_in_log=2,
    batches=200,
    committed=20,
    aborted=7,
    reads=30,
    sessions=4,
    other_reads=6,
    looks=9,
    stalest_ms=12.3,
    slowest_recovery_s=0.4,
    faults={"all killed": 2, "link cut": 1},
    refused={"wrong passwords": 8},
)
REFUSED = {
    "certificates of another authority",
    "connections without TLS",
    "requests after a session",
    "requests of a client without rights",
    "votes of a client",
    "wrong passwords",
}


@pytest.mark.rule("TEST-4", "TEST-8", "TEST-13", "AUTH-6", "AUTH-9", "AUTH-11", "ACL-1", "ACL-3")
def test_secured_quorum_of_processes_loses_nothing_under_every_kind_of_fault(tmp_path: Path) -> None:
    told: list[str] = []

    outcome = run(SHORT, tmp_path, told.append)

    assert outcome.verdict.is_fine, "\n".join([*told, str(outcome.verdict), f"files: {tmp_path}"])
    assert outcome.figures.faults == dict.fromkeys([*FAULTS, *SECURITY_FAULTS], 1)
    assert set(outcome.figures.refused) == REFUSED
    assert outcome.figures.leader_changes >= 3
    assert outcome.figures.acknowledged >= 1000
    assert outcome.figures.committed >= 100
    assert outcome.figures.aborted >= 20
    assert outcome.figures.other_reads >= 20
    assert outcome.figures.looks >= 100
    assert len(told) == len(FAULTS) + len(SECURITY_FAULTS) + 1
    assert told[-1].startswith("Porcupine")
    assert not left_behind(tmp_path)


@pytest.mark.rule("TEST-4", "SNAPSHOT-1", "SNAPSHOT-3", "SNAPSHOT-4", "READ-7")
def test_quorum_that_compacts_keeps_its_state_under_every_kind_of_fault(tmp_path: Path) -> None:
    faults: list[str] = []

    outcome = run_compacted(replace(SHORT, writers=4, is_secured=False), tmp_path, faults.append)

    assert outcome.verdict.is_fine, "\n".join([*faults, str(outcome.verdict), f"files: {tmp_path}"])
    assert outcome.figures.faults == dict.fromkeys(FAULTS, 1)
    assert outcome.figures.acknowledged >= 1000
    assert outcome.figures.snapshots >= 3
    assert outcome.figures.cuts >= 3
    assert outcome.figures.whole_reads > 2
    assert not left_behind(tmp_path)


@pytest.mark.parametrize(
    ("verdict", "exit_code"),
    [
        pytest.param(Verdict(lost=[], doubled=[], broken=[]), 0, id="every invariant holds"),
        pytest.param(Verdict(lost=["A is lost"], doubled=[], broken=[]), 1, id="a value is lost"),
    ],
)
def test_command_prints_figures_and_verdict_and_keeps_the_files_of_a_run_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdict: Verdict, exit_code: int
) -> None:
    seen: list[tuple[Plan, Path]] = []

    def pretend(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures]:
        seen.append((plan, folder))
        tell("a fault")
        return Outcome(figures=FIGURES, verdict=verdict)

    monkeypatch.setattr(command, "run", pretend)

    assert command.main(["--minutes", "0.5", "--seed", "3", "--clients", "4"]) == exit_code

    ((plan, folder),) = seen
    said = capsys.readouterr().out
    assert plan == Plan(seed=3, duration_s=30, writers=4)
    assert said.startswith("a fault\n")
    assert "         3  leader changes\n" in said
    assert "         2    all killed\n" in said
    assert "         8  refused: wrong passwords\n" in said
    assert f"lost {len(verdict.lost)}, doubled 0, invariants broken 0\n" in said
    assert folder.exists() is (str(folder) in said) is (exit_code == 1)
    if exit_code:
        assert "A is lost\n" in said
        assert "again: python -m tests.soak --minutes 0.5 --seed 3" in said
        folder.rmdir()


def test_command_says_that_the_run_compacts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = CompactedFigures(
        leader_changes=3,
        acknowledged=400,
        unknown=5,
        snapshots=9,
        cuts=8,
        whole_reads=7,
        keys=60,
        log_bytes=1234,
        faults={"all killed": 2},
    )
    verdict = Verdict(lost=[], doubled=[], broken=["a key is lost"])
    outcome = Outcome(figures=figures, verdict=verdict)
    folders: list[Path] = []

    def pretend(_plan: Plan, folder: Path, _tell: Tell) -> Outcome[CompactedFigures]:
        folders.append(folder)
        return outcome

    monkeypatch.setattr(command, "run_compacted", pretend)

    assert command.main(["--minutes", "0.5", "--compact"]) == 1

    said = capsys.readouterr().out
    assert "         9  snapshots made, 8 cuts\n" in said
    assert "a key is lost\n" in said
    assert "again: python -m tests.soak --minutes 0.5 --seed 1 --clients 10 --compact" in said
    folders[0].rmdir()


@pytest.mark.parametrize(
    ("plan", "is_secured"),
    [
        pytest.param(Plan(seed=1, duration_s=0), True, id="an odd seed"),
        pytest.param(Plan(seed=2, duration_s=0), False, id="an even seed"),
        pytest.param(Plan(seed=2, duration_s=0, is_secured=True), True, id="chosen"),
    ],
)
def test_every_second_seed_secures_the_quorum(plan: Plan, is_secured: bool) -> None:
    assert plan.secures is is_secured


def test_kinds_of_faults_can_be_chosen_and_the_nodes_can_have_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plans: list[Plan] = []

    def pretend(plan: Plan, folder: Path, _tell: Tell) -> Outcome[Figures]:
        plans.append(plan)
        folder.rmdir()
        return Outcome(figures=FIGURES, verdict=Verdict(lost=[], doubled=[], broken=["it is found"]))

    monkeypatch.setattr(command, "run", pretend)

    assert command.main(["--only", "right taken", "--planted-bug", "asks-no-rules"]) == 1

    (plan,) = plans
    assert (plan.only, plan.planted_bug) == ("right taken", "asks-no-rules")
    assert plan.command[-2:] == ("asks-no-rules", "serve")
    assert "--only 'right taken' --planted-bug asks-no-rules" in capsys.readouterr().out


def test_history_is_saved_as_a_line_for_each_append_transaction_and_read(tmp_path: Path) -> None:
    history = History()
    history.appended(Append(client="a", value=b"a-0", invoked_ns=1, acknowledged_ns=2, offset=Offset(3)))
    history.transacted(
        Transaction(
            client="t",
            values=(b"t-0", b"t-1"),
            task_sizes=(1, 1),
            begun_ns=2,
            wants_commit=True,
            acknowledged_ns=7,
            timeout_ms=9,
        )
    )
    history.read(
        Read(
            session="r",
            invoked_ns=4,
            answered_ns=5,
            start_offset=Offset(3),
            end_offset=Offset(4),
            records=((Offset(3), b"a-0"),),
        )
    )

    history.save(tmp_path / "history.jsonl")

    append, transaction, read = map(json.loads, (tmp_path / "history.jsonl").read_text().splitlines())
    assert append == {"client": "a", "value": "a-0", "invoked_ns": 1, "acknowledged_ns": 2, "offset": 3}
    assert transaction["values"] == ["t-0", "t-1"]
    assert transaction["acknowledged_ns"] == 7
    assert read["records"] == [[3, "a-0"]]
    assert read["high_watermark"] is None
