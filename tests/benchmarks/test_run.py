"""The benchmark as a command: every line of the table is measured, in short; nothing is left behind.

Figures of such a run mean nothing, so no test looks at one, beyond that it is a positive number.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.checkout import Checkout
from benchmarks.contest import OURS, Step, constant
from benchmarks.report import Report
from benchmarks.run import main, measure
from benchmarks.sizes import SHORT
from benchmarks.stage import Stage
from benchmarks.works import ALL
from benchmarks.works.work import Work
from tests.benchmarks.lines import MEASURE, PEER, STEP, comparison
from tests.processes.endings import left_behind

_ROOT = Path(__file__).parents[2]
_RUN = (sys.executable, "-u", "-m", "benchmarks.run", "--short")
_LONGEST_S = 900


def work(name: str, *, failure: Exception | None = None) -> Work:
    """Return a work without servers."""

    def steps(_stage: Stage) -> list[Step]:
        if failure is not None:
            raise failure
        return [Step(name=STEP, runs={OURS: constant({MEASURE: 1.0}), PEER: constant({MEASURE: 2.0})})]

    return Work(
        name=name,
        services=frozenset(),
        rounds=lambda _: 1,
        comparisons=lambda _: [comparison()],
        steps=steps,
    )


def run_folder(pid: int) -> Path:
    """Return where a run keeps all its data."""
    return _ROOT / ".cache" / "bench" / f"run-{pid}"


@pytest.mark.spark
@pytest.mark.java
@pytest.mark.timeout(_LONGEST_S)
def test_short_run_measures_every_line(tmp_path: Path) -> None:
    with subprocess.Popen([*_RUN, "--results", str(tmp_path)], cwd=_ROOT, stdout=subprocess.PIPE, text=True) as running:
        said, _ = running.communicate()

    assert running.returncode == 0, said
    written = json.loads((tmp_path / "peers.json").read_text())
    assert written["failed"] == {}
    assert_sane(written)
    assert_nothing_missing_without_a_reason(written)
    page, picture = (tmp_path / name for name in ("peers.md", "peers.svg"))
    for line in written["lines"]:
        assert line["comparison"]["title"] in page.read_text()
        assert line["comparison"]["title"] in picture.read_text()
    assert left_behind(run_folder(running.pid)) == []
    assert not run_folder(running.pid).exists()


def assert_sane(written: dict[str, Any]) -> None:
    """Every figure of every line is a positive number."""
    for line in written["lines"]:
        for spread in (line["ours"], line["peer"], line["ratio"]):
            assert all(math.isfinite(value) and value > 0 for value in spread.values()), line


def assert_nothing_missing_without_a_reason(written: dict[str, Any]) -> None:
    """All comparisons are lines, but for those whose peer is not installed; CI has all peers."""
    expected = {(work.name, line.title, line.measure, line.peer) for work in ALL for line in work.comparisons(SHORT)}
    titles = {(line.title, line.measure, line.peer): work.name for work in ALL for line in work.comparisons(SHORT)}
    measured = set()
    for line in written["lines"]:
        key = tuple(line["comparison"][part] for part in ("title", "measure", "peer"))
        measured.add((titles[key], *key))
    absent = {name for name, *_ in expected - measured}
    assert absent == set(written["missing"])
    for name in absent:
        assert any(words.startswith("because ") for words in written["missing"][name]), name
    if os.environ.get("CI"):
        assert not absent


def test_interrupted_run_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [*_RUN, "--only", "failover", "--results", str(tmp_path / "results")]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if "round 1 of 1" in line:
                break
        running.send_signal(signal.SIGINT)
        said = running.stdout.read()

    assert running.returncode == 130, said
    assert "nothing is written" in said
    assert left_behind(run_folder(running.pid)) == []
    assert not run_folder(running.pid).exists()
    assert not (tmp_path / "results").exists()


def test_work_that_fails_is_reported_and_the_next_one_is_measured(tmp_path: Path) -> None:
    report = Report(conditions={})

    with Stage(tmp_path / "run", {OURS: Checkout.this()}, SHORT) as stage:
        measure(work("first", failure=TimeoutError("too long")), stage, report)
        measure(work("second"), stage, report)

    assert "TimeoutError: too long" in report.failed["first"]
    assert list(report.samples) == ["second"]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--only", "sink,sunk"], "sunk is not a work; expected some of backfill", id="unknown work"),
        pytest.param(["--baseline", "/nowhere"], "make setup", id="no checkout"),
    ],
)
def test_wrong_arguments_end_with_a_word_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err
