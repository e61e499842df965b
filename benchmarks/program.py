"""A child program that is called: a JSON object a line on its standard input, an answer a line on its standard output.

{"name": "read", "arguments": {"format": "kraft"}}  ->  {"result": {"seconds": 1.25}} or {"error": "..."}
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.node.harness.processes import DIE_WITH_US

_CALL_S = 300.0
_STOP_S = 30.0
_READ_BYTES = 1 << 16
_LAST_WORDS = 2000


class ProgramError(Exception):
    """A call failed, or the program ended; says what the program said."""


class Program:
    """A child that stays until it is stopped.

    It has its own process group, so that an interrupt from the terminal reaches this process only, which then stops
    all its children in order.

    Args:
        name: stands in errors.
        command: the program and its arguments.
        log_file: takes its standard error.
        environment: further variables.
        folder: its working directory.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, log_file: Path, environment: Mapping[str, str], folder: Path
    ) -> None:
        self._name = name
        self._log_file = log_file
        self._unread = b""
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*DIE_WITH_US, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **environment},
                cwd=folder,
                process_group=0,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def call(self, name: str, **arguments: object) -> Any:
        """Call a function of the program; return its result.

        Raises:
            ProgramError: it raised, the program ended, or there is no answer in time.
        """
        assert self._process.stdin is not None, "it is a pipe"
        try:
            self._process.stdin.write(json.dumps({"name": name, "arguments": arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._error(name, "it has ended") from error
        answer = json.loads(self._line(name, time.monotonic() + _CALL_S))
        if "error" in answer:
            raise self._error(name, answer["error"])
        return answer["result"]

    def stop(self) -> None:
        """End its standard input, on which it ends; kill it if it does not."""
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        # What was to be flushed has nowhere to go when the program has ended already.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _line(self, name: str, deadline_s: float) -> bytes:
        assert self._process.stdout is not None, "it is a pipe"
        while b"\n" not in self._unread:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._process.stdout], [], [], left_s)[0]:
                raise self._error(name, "no answer in time")
            received = os.read(self._process.stdout.fileno(), _READ_BYTES)
            if not received:
                raise self._error(name, "it has ended")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _error(self, call: str, reason: str) -> ProgramError:
        words = self._log_file.read_text(errors="replace")[-_LAST_WORDS:]
        return ProgramError(f"{self._name}: {call}: {reason}\n{words}")
