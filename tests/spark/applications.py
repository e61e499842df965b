"""Spark applications in processes of their own, so that tests can see how they end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping

import psutil

from tests.processes.piped_process import PipedProcess

_LIMIT_S = 120


class Application(PipedProcess):
    """A Python program, with the JVM and the workers that belong to it.

    Args:
        module: to be run.
        arguments: of its command line.
        environment: see `PipedProcess`.
    """

    def __init__(self, module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(module, [sys.executable, "-m", module, *map(str, arguments)], environment=environment)
        # Of two threads that wait for one process, the later one is given a wrong exit code, and would keep it.
        self._waiting = threading.Lock()

    def line(self, *, within_s: float = _LIMIT_S) -> str:
        return super().line(within_s=within_s)

    def wait(self, *, within_s: float = _LIMIT_S) -> int:
        with self._waiting:
            return super().wait(within_s=within_s)

    def kill(self) -> None:
        """Kill all of it; Python first, because the JVM ends in good order when Python is gone."""
        descendants = psutil.Process(self.pid).children(recursive=True) if self.is_running else []
        self._started.kill()
        for process in descendants:
            process.kill()
        psutil.wait_procs(descendants)
        self.wait()
