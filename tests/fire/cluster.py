"""A standalone cluster of Spark on loopback: a master, and two workers that are killed and started again."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from raft.local.ports import free_ports
from tests.cluster.hosts import Host
from tests.cluster.standalone import Daemon
from tests.node.harness.properties import HOST
from tests.node.harness.waiting import eventually

WORKERS = 2
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_EXECUTORS_S = 120.0


class Cluster:
    """Its processes run from now on; the end of the block kills them.

    Args:
        folder: gets the files of its workers, and the output of its daemons.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (port,) = free_ports(1)
        self.url = f"spark://{HOST}:{port}"
        self._ended: list[Daemon] = []
        self._master = Daemon(Host(HOST), "master", _MASTER, "--port", str(port))
        self._workers: list[Daemon] = []
        try:
            self._master.says("I have been elected leader")
            self._workers += [self._new_worker(at) for at in range(WORKERS)]
            for worker in self._workers:
                worker.says("Successfully registered with master")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill its processes, and write their output to the folder."""
        for at, daemon in enumerate([self._master, *self._workers, *self._ended]):
            output = self._folder / f"daemon-{at}-{daemon.name.replace(' ', '-')}.log"
            daemon.kill()
            output.write_text(daemon.errors)
            daemon.close()

    def executors(self) -> list[psutil.Process]:
        """Wait until an executor runs; return those that run."""
        return eventually(self._find_executors, "an executor runs", within_s=_EXECUTORS_S, every_s=0.1)

    def python_processes(self) -> list[psutil.Process]:
        """Wait until executors have Python processes; return them."""

        def look() -> list[psutil.Process]:
            return [process for executor in self._find_executors() for process in family(executor)[1:]]

        return eventually(look, "an executor has Python processes", within_s=_EXECUTORS_S, every_s=0.1)

    def kill_worker(self, at: int) -> None:
        """Kill a worker with its executors, and their Python processes, as if its host had failed."""
        self._workers[at].kill()

    def restart_worker(self, at: int) -> None:
        """Start another worker in place of one that was killed."""
        self._ended.append(self._workers[at])
        self._workers[at] = self._new_worker(at)

    def _new_worker(self, at: int) -> Daemon:
        limits = ("--cores", "1", "--memory", "600m", "--work-dir", str(self._folder / f"worker-{at}"))
        return Daemon(Host(HOST), f"worker {at}", _WORKER, *limits, self.url)

    def _find_executors(self) -> list[psutil.Process]:
        return [
            process
            for worker in self._workers
            if worker.is_running
            for process in family(psutil.Process(worker.pid))[1:]
            if _EXECUTOR in _command(process)
        ]


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return a process with its descendants; none if it has ended."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []
