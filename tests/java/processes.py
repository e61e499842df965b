"""Child processes of the tests: one that runs to its end, and one that stays until it is stopped.

Neither outlives its test, nor the test run, however that ends: where `setpriv` is at hand (Linux), the kernel kills
them together with the process that started them, for instance when pytest gives up a test that takes too long.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.types import Endpoint
from tests.node.harness.processes import DIE_WITH_US
from tests.node.harness.waiting import eventually

_SPOKEN_OF = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
"""Variables that a JVM announces on standard error, where tests look for what a program has to say."""

_LAST_WORDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a process ended, and what it said."""

    command: str
    exit_code: int
    stdout: str
    stderr: str

    def output(self) -> str:
        """Return standard output.

        Raises:
            AssertionError: the exit code is not 0; says what else the process said.
        """
        assert self.exit_code == 0, (
            f"{self.command} ended with {self.exit_code}: {self.stdout[-_LAST_WORDS:]}{self.stderr[-_LAST_WORDS:]}"
        )
        return self.stdout


def run_to_end(name: str, command: Sequence[str], *, stdin: str = "", timeout_s: float = 60) -> Finished:
    """Run a command.

    Args:
        name: stands in failures.
        command: the program and its arguments.
        stdin: its whole standard input.
        timeout_s: it is killed after that.

    Raises:
        subprocess.TimeoutExpired: it took too long; holds what it had said by then.
    """
    done = subprocess.run(
        [*DIE_WITH_US, *command],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout_s,
        env=_environment(),
        process_group=0,
        check=False,
    )
    return Finished(command=name, exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)


class Server:
    """A process that stays until it is stopped; what it says goes to a file.

        with Server("node 1", ["kraft", "serve", ...], log_file=folder / "node.log") as server:
            server.wait_until_logged("listens on")

    It has its own process group, so that an interrupt from the terminal is not its own. The end of the block stops it.

    Args:
        name: stands in failures.
        command: the program and its arguments.
        log_file: takes standard output and standard error, start after start.
    """

    def __init__(self, name: str, command: Sequence[str], *, log_file: Path) -> None:
        self.name = name
        self.log_file = log_file
        self._command = [*DIE_WITH_US, *command]
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start_bytes = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def log(self) -> str:
        """What it has said since its last start."""
        return self.log_file.read_bytes()[self._log_start_bytes :].decode(errors="replace")

    def start(self) -> None:
        """Start it; once it has ended, it may be started again."""
        assert self.pid is None, f"{self.name} runs already"
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._log_start_bytes = log.tell()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(),
                process_group=0,
            )

    def wait_until_logged(self, pattern: str, *, timeout_s: float = 30) -> re.Match[str]:
        """Wait for a line; return the match of the regular expression in what it said since its last start.

        Raises:
            AssertionError: it ended before, or took too long; says what it said last.
        """

        def look() -> re.Match[str] | None:
            is_running = self.pid is not None
            found = re.search(pattern, self.log)
            assert found or is_running, f"{self.name} ended without {pattern!r}: {self.log[-_LAST_WORDS:]}"
            return found

        return eventually(look, f"{pattern!r} in {self.log_file}", within_s=timeout_s)

    def wait_until_listening(self, endpoint: Endpoint, *, timeout_s: float = 30) -> None:
        """Wait until it takes connections.

        Raises:
            AssertionError: it ended before, or took too long; says what it said last.
        """

        def look() -> bool:
            assert self.pid is not None, f"{self.name} ended: {self.log[-_LAST_WORDS:]}"
            return is_listening(endpoint)

        eventually(look, f"{self.name} listens on {endpoint}", within_s=timeout_s)

    def suspend(self) -> None:
        """Make it stand still, as SIGSTOP does: its connections stay open, and nobody answers on them."""
        assert self._process is not None, f"{self.name} was never started"
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on as if no time had passed."""
        assert self._process is not None, f"{self.name} was never started"
        self._process.send_signal(signal.SIGCONT)

    def ask_to_stop(self) -> None:
        """Send SIGTERM; does nothing when it has ended."""
        if self._process is not None and self.pid is not None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self, *, patience_s: float = 15) -> int | None:
        """Ask it to stop, and kill it if it does not; return how it ended, None if it was never started."""
        self.ask_to_stop()
        if self._process is not None:
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.kill()
        return self._process.returncode if self._process is not None else None

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def is_listening(endpoint: Endpoint) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection((endpoint.host, endpoint.port), timeout=1).close()
    except OSError:
        return False
    return True


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _SPOKEN_OF}
