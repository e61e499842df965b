"""A child program whose functions are called: each call and each response is a line of JSON.

{"name": "read", "arguments": {"format": "kraft"}}  ->  {"result": {"seconds": 1.25}} or {"error": "..."}
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.processes.commands import child_environment
from tests.processes.piped_process import PipedProcess

_CALL_S = 300.0
_STOP_S = 30.0
_SHOWN_CHARACTERS = 2000


class ProgramError(Exception):
    """A call failed, or the program ended; has what the program printed."""


class Program(PipedProcess):
    """A child that runs until it is stopped; `benchmarks.side.calls` is the other side.

    Args:
        name: identifies it in errors.
        command: the program and its arguments.
        environment: further variables.
        folder: its working directory.
    """

    def __init__(self, name: str, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> None:
        super().__init__(name, command, environment=child_environment(**environment), folder=folder)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its standard input, which ends it; kill it if it does not end."""
        self.close_input()
        try:
            self.wait(within_s=_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self.close()

    def call(self, name: str, **arguments: object) -> Any:
        """Call a function of the program; return its result.

        Args:
            name: the function.
            arguments: its keyword arguments.

        Raises:
            ProgramError: it raised an error, the program ended, or there is no response in time.
        """
        try:
            self.write(json.dumps({"name": name, "arguments": arguments}).encode() + b"\n")
            line = self.line(within_s=_CALL_S)
        except BrokenPipeError as error:
            raise self._error(name, "it has ended") from error
        except TimeoutError as error:
            raise self._error(name, "no response in time") from error
        if not line:
            raise self._error(name, "it has ended")
        response = json.loads(line)
        if "error" in response:
            raise self._error(name, response["error"])
        return response["result"]

    def _error(self, call: str, reason: str) -> ProgramError:
        return ProgramError(f"{self.name}: {call}: {reason}\n{self.errors[-_SHOWN_CHARACTERS:]}")
