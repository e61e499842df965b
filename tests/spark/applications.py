"""Spark applications as child processes, so that tests can kill them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping

import psutil

from tests.processes.piped_process import PipedProcess

_LIMIT_S = 120


class Application(PipedProcess):
    """A Python program with its JVM and its Python workers.

    Args:
        module: the program.
        arguments: of its command line.
        environment: see `PipedProcess`.
    """

    def __init__(self, module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(module, [sys.executable, "-m", module, *map(str, arguments)], environment=environment)
        # If two threads wait for one process, the later one gets a wrong exit code and keeps it.
        self._waiting = threading.Lock()

    def line(self, *, within_s: float = _LIMIT_S) -> str:
        return super().line(within_s=within_s)

    def wait(self, *, within_s: float = _LIMIT_S) -> int:
        with self._waiting:
            return super().wait(within_s=within_s)

    def kill(self) -> None:
        """Kill all its processes; Python first, because the JVM shuts down once Python has ended."""
        descendants = psutil.Process(self.pid).children(recursive=True) if self.is_running else []
        self._started.kill()
        for process in descendants:
            process.kill()
        psutil.wait_procs(descendants)
        self.wait()
