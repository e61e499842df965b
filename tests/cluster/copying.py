"""The application of `tests.cluster.application` as a child process, and what strikes it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from tests.cluster.hosts import Host
from tests.processes.commands import child_environment
from tests.spark.applications import Application

_SUSPENDED_S = 6.0
"""Longer than the fetch timeout, so that another leader is elected."""

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Copying(Application):
    """See `tests.cluster.application`.

    Args:
        host: where the driver runs.
        master: URL of the cluster.
        folder: gets the data of the quorums, and the checkpoint.
    """

    def __init__(self, host: Host, master: str, folder: Path) -> None:
        environment = child_environment(SPARK_LOCAL_IP=host.address, PYSPARK_PYTHON=sys.executable)
        module = "tests.cluster.application"
        super().__init__(module, master, host.address, folder, environment=environment, enter=host.enter)

    def said(self) -> dict[str, Any]:
        """Return its next line."""
        line = self.line()
        assert line, self.errors
        said: dict[str, Any] = json.loads(line)
        return said

    def kill_executor(self) -> None:
        """Kill one executor with its Python processes, if this process has started executors."""
        children = psutil.Process(self.pid).children(recursive=True)
        executor = next(process for process in children if _is_executor(process))
        for process in [executor, *executor.children(recursive=True)]:
            process.kill()


def _is_executor(process: psutil.Process) -> bool:
    try:
        return _EXECUTOR in process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def suspend_leaders(started: dict[str, Any]) -> None:
    """Suspend the leaders that the application named in its first line, one after the other."""
    for name, leader in zip(("source", "sink"), started["leaders"], strict=True):
        pid = started[name][str(leader)]
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(_SUSPENDED_S)
        finally:
            os.kill(pid, signal.SIGCONT)
