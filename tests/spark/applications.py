"""Spark applications as child processes, so that tests can kill them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

import psutil

from tests.hang import HANG_S
from tests.processes.piped_process import PipedProcess


class Application(PipedProcess):
    """A Python program with its JVM and its Python workers.

    Args:
        module: the program.
        arguments: of its command line.
        environment: see `PipedProcess`.
        enter: put before its command, such as a command that enters a network namespace.
    """

    def __init__(
        self,
        module: str,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        enter: Sequence[str] = (),
    ) -> None:
        command = [*enter, sys.executable, "-m", module, *map(str, arguments)]
        super().__init__(module, command, environment=environment)
        # If two threads wait for one process, the later one gets a wrong exit code and keeps it.
        self._waiting = threading.Lock()

    def line(self, *, within_s: float = HANG_S) -> str:
        return super().line(within_s=within_s)

    def wait(self, *, within_s: float = HANG_S) -> int:
        with self._waiting:
            return super().wait(within_s=within_s)

    def kill(self) -> None:
        """Kill all its processes; Python first, because the JVM shuts down once Python has ended."""
        descendants = psutil.Process(self.pid).children(recursive=True) if self.is_running else []
        self._started.kill()
        for process in descendants:
            # It may have ended since, because its parent did.
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(descendants)
        self.wait()
