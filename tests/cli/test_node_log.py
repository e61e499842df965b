"""The log of `kraft serve`: JSON lines, and a file that is rotated without losing what no logger writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.harness.properties import voters_properties
from tests.processes.commands import ROOT, child_environment
from tests.processes.node_process import NodeProcess


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """The one node of a quorum, not started."""
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process") as node:
        yield node


def test_json_log_has_one_object_in_each_line(node: NodeProcess) -> None:
    node.start("--log-format", "json").wait_until_serving()
    node.stop()

    lines = [json.loads(line) for line in node.output.splitlines()]
    assert lines
    assert all(set(line) == {"time", "level", "logger", "message", "node_id"} for line in lines)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00", line["time"]) for line in lines)
    serving = next(line for line in lines if " listens on " in line["message"])
    assert (serving["level"], serving["logger"], serving["node_id"]) == ("INFO", "raft.cli.serve", 1)


def test_refused_start_is_json_too(node: NodeProcess) -> None:
    node.log_dir.mkdir()
    (node.log_dir / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=1\n")

    assert node.start("--log-format", "json").wait() == 1
    *_, last = (json.loads(line) for line in node.output.splitlines())
    assert last["level"] == "CRITICAL"
    assert "has cluster.id=another" in last["message"]


SCRIPT = """
import logging, os, sys, threading
from pathlib import Path
from raft.cli.node_log import LogFormat, start_logging
from raft.config import NodeConfig
from raft.properties import parse_properties

config = NodeConfig.from_properties(parse_properties(Path(sys.argv[1]).read_text()))
log_file = Path(sys.argv[3]) if len(sys.argv) > 3 else None
start_logging(config, LogFormat(sys.argv[2]), log_file)
"""


def run(tmp_path: Path, script: str, *arguments: str, **overrides: str) -> subprocess.CompletedProcess[str]:
    (properties,) = voters_properties(tmp_path / "nodes", voters=1, **overrides).values()
    config = tmp_path / "node.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + script, str(config), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=child_environment(),
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "raising", ["raise ValueError('why')", "t = threading.Thread(target=lambda: int('why')); t.start(); t.join()"]
)
def test_exception_that_no_code_handles_is_one_json_line(tmp_path: Path, raising: str) -> None:
    ended = run(tmp_path, raising, "json")

    line = json.loads(ended.stderr)
    assert line["level"] == "CRITICAL"
    assert "why" in line["message"]
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert "ValueError: " in line["exception"]


def test_full_file_is_renamed_and_the_oldest_is_removed(tmp_path: Path) -> None:
    log = tmp_path / "node.log"
    script = """
for number in range(100):
    logging.getLogger("x").info("line %03d %s", number, "." * 60)
print("printed", flush=True)
os.write(2, b"written to standard error\\n")
raise ValueError("last words")
"""
    sizes = {"raft__node__log__max__bytes": "2000", "raft__node__log__old__files": "2"}

    ended = run(tmp_path, script, "text", str(log), **sizes)

    assert (ended.stdout, ended.stderr) == ("", "")
    files = sorted(path.name for path in tmp_path.glob("node.log*"))
    assert files == ["node.log", "node.log.1", "node.log.2"]
    assert all(path.stat().st_size <= 2000 for path in tmp_path.glob("node.log.*"))
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.glob("node.log*"))
    kept = "".join((tmp_path / name).read_text() for name in reversed(files))
    numbers = [int(number) for number in re.findall(r" line (\d{3}) ", kept)]
    assert numbers == list(range(numbers[0], 100)), "no line between the files is lost"
    assert numbers[0] > 0
    assert log.read_text().endswith("ValueError: last words\n")
    assert "printed\nwritten to standard error\nTraceback" in log.read_text()


def test_log_file_that_cannot_be_opened_is_refused(node: NodeProcess, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    assert node.start("--log-file", str(tmp_path / "link")).wait() == 1
    assert node.output.startswith(f"kraft: cannot open the log file {tmp_path / 'link'}: ")
