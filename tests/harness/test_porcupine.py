"""Porcupine judges the histories of a soak, and comes to the same result as the check of this project."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from raft.types import Offset
from tests.harness import porcupine
from tests.harness.porcupine import judged_by_porcupine, some_of
from tests.workload.history import Append, History, Read
from tests.workload.linearizable import TimedAppend, TimedRead, not_linearizable
from tests.workload.timed_operations import NEVER_NS, save_operations
from tests.workload.visible_log import VisibleLog

_WITH_GO = pytest.mark.skipif(shutil.which("go") is None, reason="Porcupine needs Go, which this machine does not have")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    path = tmp_path_factory.mktemp("porcupine") / "porcupine"
    subprocess.run(
        ["go", "build", "-buildvcs=false", "-o", str(path), "."], cwd=porcupine.SOURCE, check=True, timeout=300
    )
    return path


def history_with(*, read_end: int) -> History:
    """Two appends at 0 and 1, and a read of the end after both were acknowledged."""
    history = History()
    for at, value in enumerate((b"a", b"b")):
        history.appended(
            Append(client="c", value=value, invoked_ns=10 * at, acknowledged_ns=10 * at + 5, offset=Offset(at))
        )
    at_end = Offset(read_end)
    history.read(
        Read(
            session="s",
            invoked_ns=30,
            answered_ns=31,
            start_offset=at_end,
            end_offset=at_end,
            high_watermark=at_end,
            is_latest=True,
        )
    )
    return history


LOG = VisibleLog(records=[(Offset(0), b"a"), (Offset(1), b"b")], transactions=[], complaints=[])


@_WITH_GO
@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    ("read_end", "judgement", "is_wrong"),
    [
        pytest.param(2, "Porcupine: linearizable: 3 operations", False, id="the read has both"),
        pytest.param(1, "Porcupine: not linearizable: 3 operations", True, id="the read misses the second"),
    ],
)
def test_soak_tells_what_porcupine_says(tmp_path: Path, read_end: int, judgement: str, is_wrong: bool) -> None:
    told: list[str] = []

    wrong = judged_by_porcupine(history_with(read_end=read_end), LOG, tmp_path, told.append)

    assert told == [judgement]
    assert wrong == [judgement] * is_wrong


def test_soak_says_that_porcupine_does_not_judge_without_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.harness.porcupine.shutil.which", lambda _: None)
    told: list[str] = []

    assert judged_by_porcupine(history_with(read_end=1), LOG, tmp_path, told.append) == []
    assert told == ["Porcupine does not judge the history: this machine has no Go"]
    assert (tmp_path / "operations.jsonl").read_text().count("\n") == 3


@_WITH_GO
@pytest.mark.rule("READ-1")
def test_porcupine_agrees_with_the_check_of_this_project(program: Path, tmp_path: Path) -> None:
    dice, results = Random(7), []
    for number in range(60):
        operations = random_history(dice)
        path = tmp_path / f"{number}.jsonl"
        save_operations(path, operations)
        judged = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False, timeout=60)

        appends = [each for each in operations if isinstance(each, TimedAppend)]
        wrong = [*not_linearizable(appends, [each for each in operations if isinstance(each, TimedRead)])]

        assert judged.returncode == (1 if wrong else 0), f"{operations}: {wrong}, {judged.stdout}{judged.stderr}"
        results.append(not wrong)
    assert 5 < sum(results) < 55, "both kinds occur"


def random_history(dice: Random) -> list[TimedAppend | TimedRead]:
    """A linearizable history of some operations, in which a read may be moved to another end."""
    operations: list[TimedAppend | TimedRead] = []
    end = 0
    for moment in range(0, 200, 10):
        begin, answered = moment - dice.randint(0, 40), moment + dice.randint(1, 40)
        if dice.random() < 0.5:
            is_known = dice.random() < 0.8
            operations.append(
                TimedAppend(
                    name="append",
                    invoked_ns=begin,
                    answered_ns=answered if is_known else NEVER_NS,
                    start_offset=Offset(end),
                    end_offset=Offset(end + 1),
                )
            )
            end += dice.randint(1, 2)
        else:
            seen = max(end - (dice.random() < 0.3), 0)
            hidden_to = seen + dice.choice([0, 0, 2])
            operations.append(
                TimedRead(
                    name="read",
                    invoked_ns=begin,
                    answered_ns=answered,
                    end_offset=Offset(seen),
                    hidden_to=Offset(hidden_to),
                )
            )
    return operations


def test_only_so_many_appends_are_judged_as_porcupine_can_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(porcupine, "_MAX_OPERATIONS", 10)
    appends = [
        TimedAppend(name="a", invoked_ns=0, answered_ns=1, start_offset=Offset(at), end_offset=Offset(at + 1))
        for at in range(100)
    ]
    read = TimedRead(name="r", invoked_ns=0, answered_ns=1, end_offset=Offset(9), hidden_to=Offset(9))

    chosen = some_of(appends, [read] * 5)

    assert [each.start_offset for each in chosen if isinstance(each, TimedAppend)] == [0, 20, 40, 60, 80]
    assert chosen.count(read) == 5
