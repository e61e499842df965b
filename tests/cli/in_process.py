"""The command `kraft` inside this process, for tests that need no separate process."""

from __future__ import annotations

import sys

import pytest

from raft.cli.main import main
from tests.processes.finished import Finished


class KraftInProcess:
    """Calls the command.

    Args:
        monkeypatch: sets the arguments.
        capsys: takes the output.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Finished:
        self._monkeypatch.setattr(sys, "argv", ["kraft", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = self._capsys.readouterr()
        code = ended.value.code
        return Finished(
            name="kraft", exit_code=code if isinstance(code, int) else 0, output=captured.out, errors=captured.err
        )
