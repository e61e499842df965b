"""A child process: signals, waiting and killing."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.hang import HANG_S
from tests.processes.commands import ROOT, TIED_TO_PARENT, child_environment


def kill_at_once(processes: Iterable[ChildProcess]) -> None:
    """Kill processes, all of them before the first end is awaited; does nothing to those that have ended."""
    killed = list(processes)
    for process in killed:
        process.signal(signal.SIGKILL)
    for process in killed:
        process.wait()


class ChildProcess:
    """One process; the end of the block kills it.

    It has a process group of its own, so that an interrupt from the terminal does not reach it. It does not outlive the
    test run either; see `TIED_TO_PARENT`.

    Args:
        name: identifies it in failures.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The process id of its last start."""
        return self._started.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; does nothing when the process has ended."""
        self._started.send_signal(number)

    def suspend(self) -> None:
        """Send SIGSTOP: its connections stay open, and it sends nothing on them."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Send SIGCONT."""
        self.signal(signal.SIGCONT)

    def wait(self, *, within_s: float = HANG_S) -> int:
        """Wait until it ends; return its exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        return self._started.wait(within_s)

    def terminate(self) -> int:
        """Send SIGTERM and wait; return the exit code. See `wait`."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def stop(self, *, within_s: float = HANG_S) -> int:
        """Send SIGTERM, and kill it when it has not ended in time; return the exit code."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait(within_s=within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.wait()

    def kill(self) -> None:
        """Send SIGKILL and wait; does nothing when it was not started or has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.name} was not started"
        return self._process

    def _spawn(
        self,
        command: Sequence[str],
        *,
        stdin: int,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes],
        environment: Mapping[str, str] | None = None,
        folder: Path = ROOT,
    ) -> subprocess.Popen[bytes]:
        assert not self.is_running, f"{self.name} is running"
        self._process = subprocess.Popen(
            [*TIED_TO_PARENT, *command],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=child_environment() if environment is None else environment,
            cwd=folder,
            process_group=0,
        )
        return self._process
