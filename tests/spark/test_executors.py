"""Executors without this project, with another version of it, or on another host: the error says so first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raft import __version__
from tests.processes.commands import ROOT
from tests.spark.applications import Application
from tests.spark.executors_application import EXECUTOR_PATH

pytestmark = pytest.mark.spark

HIDING = """
import os, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("raft", "datasource", "pyspark_kraft", "kraft_spark"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
"""A module `sitecustomize`, with which Python does not find this project."""

ELSEWHERE = f"""#!/bin/sh
[ -z "$KRAFT_TEST_IS_EXECUTOR" ] && exec {sys.executable} "$@"
exec unshare --net --map-root-user {sys.executable} "$@"
"""
"""A Python that has no network on executors; the JVM talks to it through Unix sockets."""


def uses(folder: Path, executor_path: Path, python: str = sys.executable) -> list[str]:
    """What the application says."""
    environment = os.environ | {"PYSPARK_PYTHON": python, EXECUTOR_PATH: str(executor_path)}
    with Application("tests.spark.executors_application", folder, environment=environment) as application:
        said = [application.line() for _ in range(4)]
        assert application.wait() == 0, application.errors
    return said


def test_executor_without_the_package_says_so(tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(HIDING)

    said = uses(tmp_path, tmp_path / "path")

    for line in said:
        assert re.match(
            rf"[01] ImportError: package kraft-spark is not installed on host \S+ \(Python \S+\), but version "
            rf"{re.escape(__version__)} runs on the driver: install kraft-spark\[spark\]=={re.escape(__version__)} ",
            line,
        ), line


def test_executor_with_another_version_says_so(tmp_path: Path) -> None:
    older = tmp_path / "path"
    for package in ("raft", "datasource", "pyspark_kraft"):
        shutil.copytree(ROOT / package, older / package, ignore=shutil.ignore_patterns("__pycache__"))
    (older / "raft" / "__init__.py").write_text('__version__ = "0.0.9"\n')

    said = uses(tmp_path, older)

    for line in said:
        assert re.match(
            r"[01] ImportError: package kraft-spark has version 0\.0\.9 on host \S+ \(Python \S+\), but version "
            rf"{re.escape(__version__)} runs on the driver: install ",
            line,
        ), line


def test_executor_elsewhere_says_which_addresses_it_tried(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--net", "--map-root-user", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let a test make a network namespace")
    python = tmp_path / "python"
    python.write_text(ELSEWHERE)
    python.chmod(0o755)

    write, read, stream, sink = uses(tmp_path, tmp_path, str(python))

    assert (write, sink) == ("done", "done"), "the driver writes what fits in messages"
    for line in (read, stream):
        assert re.match(
            r"[01] raft\.errors\.QuorumUnreachableError: no node of the quorum could be connected to in 1\.0 s: "
            r"127\.0\.0\.1:\d+: Network is unreachable \(from host \S+\)\. Check that the nodes run, .* start the "
            r'quorum with QuorumService\.start\(listen="driver"\)',
            line,
        ), line
