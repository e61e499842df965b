"""The command `kraft`, as a process, or inside this one where that shows as much."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from raft.cli.main import main
from tests.node.harness.processes import KRAFT, ROOT

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    exit_code: int
    output: str
    errors: str


def kraft(*arguments: str | bytes, stdin: bytes | None = None, directory: Path | None = None) -> Done:
    """Run the command as a process."""
    done = subprocess.run(
        [*KRAFT, *arguments],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        env=ENVIRONMENT,
        cwd=directory,
        timeout=PATIENCE_S,
        check=False,
    )
    return Done(exit_code=done.returncode, output=done.stdout.decode(), errors=done.stderr.decode())


def start_kraft(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the command, with pipes to all its streams."""
    return subprocess.Popen(
        [*KRAFT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT | (environment or {}),
    )


class Here:
    """Runs the command inside this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["kraft", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = self._capsys.readouterr()
        code = ended.value.code
        return Done(exit_code=code if isinstance(code, int) else 0, output=captured.out, errors=captured.err)
