"""A child process that runs until it is stopped, and whose output goes to a file."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from raft.types import Endpoint
from tests.hang import HANG_S
from tests.node.harness.waiting import eventually
from tests.processes.child_process import ChildProcess

_SHOWN_CHARACTERS = 2000


class Server(ChildProcess):
    """A process that can be started again once it has ended.

        with Server("broker", ["kafka-server-start", ...], log_file=folder / "broker.log").start() as server:
            server.wait_until_listening(endpoint)

    Args:
        name: see `ChildProcess`.
        command: the program and its arguments.
        log_file: standard output and standard error are appended to it, at every start.
    """

    def __init__(self, name: str, command: Sequence[str], *, log_file: Path) -> None:
        super().__init__(name)
        self.log_file = log_file
        self._command = command
        self._last_start_position = 0

    @property
    def output(self) -> str:
        """What it has printed, and what was in the file before its first start."""
        return self._read_from(0)

    @property
    def last_output(self) -> str:
        """What it has printed since its last start."""
        return self._read_from(self._last_start_position)

    def start(self, *arguments: str) -> Self:
        """Start it with further arguments, and return at once."""
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._last_start_position = log.tell()
            self._spawn([*self._command, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def wait_until_printed(self, pattern: str, *, within_s: float = HANG_S) -> re.Match[str]:
        """Wait until its output since the last start has a match of a regular expression; return the match.

        Raises:
            AssertionError: it ended before, or took too long; shows the end of its output.
        """

        def look() -> re.Match[str] | None:
            is_running = self.is_running
            found = re.search(pattern, self.last_output)
            assert found or is_running, f"{self.name} ended and has not printed {pattern!r}: {self._end_of_output}"
            return found

        try:
            return eventually(look, f"{self.name} prints {pattern!r}", within_s=within_s)
        except AssertionError as error:
            error.add_note(f"its output ends: {self._end_of_output}")
            raise

    def wait_until_listening(self, endpoint: Endpoint, *, within_s: float = HANG_S) -> None:
        """Wait until it accepts connections.

        Raises:
            AssertionError: it ended before, or took too long; shows the end of its output.
        """

        def look() -> bool:
            assert self.is_running, f"{self.name} ended: {self._end_of_output}"
            return is_listening(endpoint)

        eventually(look, f"{self.name} listens on {endpoint}", within_s=within_s)

    @property
    def _end_of_output(self) -> str:
        return self.last_output[-_SHOWN_CHARACTERS:]

    def _read_from(self, position: int) -> str:
        content = self.log_file.read_bytes() if self.log_file.exists() else b""
        return content[position:].decode(errors="replace")


def is_listening(endpoint: Endpoint) -> bool:
    """Whether a process accepts connections there."""
    try:
        socket.create_connection((endpoint.host, endpoint.port), timeout=1).close()
    except OSError:
        return False
    return True
