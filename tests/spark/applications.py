"""Spark applications in processes of their own, to be watched from outside as they end, and how."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping

import psutil

_LIMIT_S = 120


class Application:
    """A Python program, with the JVM and the workers that belong to it.

    Args:
        module: to be run.
        arguments: of its command line.
        environment: what is to be different from this process's.
    """

    def __init__(self, module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", module, *map(str, arguments)]
        # The standard output is for what it says to the tests, line by line.
        self.process = psutil.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        # Of two threads that wait for one process, the later one hears no exit code, and would keep that.
        self._one_waits = threading.Lock()

    def line(self) -> str:
        """The next line that it says; "" when it is over."""
        assert self.process.stdout is not None, "a pipe"
        line: str = self.process.stdout.readline().strip()
        return line

    def kill(self) -> None:
        """Kill all of it; Python first, whose end the JVM would take for a reason to leave in good order."""
        descendants = self.process.children(recursive=True)
        for process in (self.process, *descendants):
            process.kill()
        psutil.wait_procs(descendants)
        with self._one_waits:
            self.process.wait()

    def wait(self) -> int:
        """Wait for its end; return its exit code."""
        with self._one_waits:
            code: int = self.process.wait(_LIMIT_S)
        assert self.process.stdout is not None, "a pipe"
        self.process.stdout.close()
        return code
