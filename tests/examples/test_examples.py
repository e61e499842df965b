"""Every example, the demo and the README's snippet run as a user would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.processes.commands import ROOT
from tests.processes.endings import left_behind

pytestmark = pytest.mark.spark


OF_SPARK = re.compile(
    r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]+ |WARNING: Using incubator modules|Using Spark's default log4j|"
    r"Setting default log level|To adjust logging level|\s*(\[Stage .*)?$"
)
"""The beginnings of the lines that Spark prints on standard error."""


def run(arguments: list[str], cwd: Path, *, has_faults: bool = False) -> str:
    """Run a Python program to its end; return what it printed.

    Without faults it prints nothing on standard error but what Spark prints.
    """
    env = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "TMPDIR": str(cwd)}
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert "Traceback" not in ended.stderr, ended.stderr
    if not has_faults:
        assert [line for line in ended.stderr.splitlines() if not OF_SPARK.match(line)] == []
    assert not left_behind(cwd), "a voter outlived the program that started it"
    return ended.stdout


def working_in(folder: Path) -> list[psutil.Process]:
    """Processes whose working directory it is, the JVM among them."""
    return [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(folder)]


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        pytest.param("first_stream", [r"topic-1\|created", r"topic-2\|created"], id="first_stream"),
        pytest.param(
            "sink_from_msgpack", [r"orders\| +12\| +604800000", r"audit\| +3\| +NULL"], id="sink_from_msgpack"
        ),
        pytest.param("backfill_range", [r"5000 rows in 4 tasks", r"2000\|6999\|5000"], id="backfill_range"),
        pytest.param("lag_plot", [r"(?m)^ +0\.0 s +1500 #+$", r"(?m)^ +[0-9.]+ s +0$"], id="lag_plot"),
        pytest.param(
            "three_hosts", [r"topic-2\tcreated\ntopic-1\tdeleted", r"Leader", r"HighWatermark: +4"], id="three_hosts"
        ),
    ],
)
def test_example_prints_what_it_promises_when_run(example: str, expected: list[str], tmp_path: Path) -> None:
    printed = run(["-m", f"examples.{example}"], tmp_path)

    for pattern in expected:
        assert re.search(pattern, printed), printed


def test_demo_loses_and_doubles_nothing_when_its_leaders_are_killed(tmp_path: Path) -> None:
    printed = run(["-m", "examples.demo"], tmp_path, has_faults=True)

    assert not working_in(tmp_path), "a process outlived the demo"
    changes = re.search(r"^changes in +(\d+)", printed, re.MULTILINE)
    assert changes is not None, printed
    assert int(changes[1]) > 10_000
    assert f"read as a stream    {changes[1]}, duplicates 0" in printed
    assert f"read as a batch     {changes[1]}, duplicates 0" in printed
    leader_changes = re.search(r"leader changes +(\d+)", printed)
    assert leader_changes is not None
    assert 2 <= int(leader_changes[1]) < 20


def test_readme_snippet_shows_its_rows_when_run(tmp_path: Path) -> None:
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    program = tmp_path / "snippet.py"
    program.write_text(snippets[0])

    printed = run([str(program)], tmp_path)

    assert re.search(r"topic-1\|created", printed), printed
