"""A standalone cluster of Spark: a master, and one worker on each of several hosts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
from pyspark.find_spark_home import _find_spark_home

from tests.cluster.hosts import Host, on
from tests.hang import HANG_S
from tests.node.harness.waiting import eventually
from tests.processes.commands import child_environment
from tests.processes.piped_process import PipedProcess

_PORT = 7077
_REGISTERED = "Successfully registered with master"


class Daemon(PipedProcess):
    """A process of the cluster.

    Args:
        host: where it runs.
        name: identifies it in failures.
        main: its Java class.
        arguments: of its command line.
    """

    def __init__(self, host: Host, name: str, main: str, *arguments: str) -> None:
        spark_class = str(Path(_find_spark_home(), "bin", "spark-class"))
        environment = child_environment(SPARK_DAEMON_MEMORY="200m", SPARK_LOCAL_IP=host.address, SPARK_NO_DAEMONIZE="1")
        command = on(host, [spark_class, main, "--host", host.address, "--webui-port", "0", *arguments])
        super().__init__(name, command, environment=environment)

    def says(self, text: str) -> None:
        """Wait until it has logged a text."""
        eventually(lambda: text in self.errors, f"{self.name} says {text}", within_s=HANG_S)

    def kill(self) -> None:
        """Kill it with the executors that it has started, and their Python processes."""
        descendants = psutil.Process(self.pid).children(recursive=True) if self.is_running else []
        super().kill()
        for process in descendants:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(descendants)


class StandaloneCluster:
    """A master on the first host, and a worker with one core on each of the others.

    Args:
        hosts: where its processes run.
        folder: gets the files of the workers.
    """

    def __init__(self, hosts: Sequence[Host], folder: Path) -> None:
        self.workers: list[Daemon] = []
        self._hosts = hosts
        self._folder = folder
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        master_host = self._hosts[0]
        self.url = f"spark://{master_host.address}:{_PORT}"
        with ExitStack() as stack:
            main = "org.apache.spark.deploy.master.Master"
            master = stack.enter_context(Daemon(master_host, "master", main, "--port", str(_PORT)))
            master.says("I have been elected leader")
            for at, host in enumerate(self._hosts[1:]):
                limits = ("--cores", "1", "--memory", "600m", "--work-dir", str(self._folder / f"worker-{at}"))
                main = "org.apache.spark.deploy.worker.Worker"
                self.workers.append(stack.enter_context(Daemon(host, f"worker {at}", main, *limits, self.url)))
            for worker in self.workers:
                worker.says(_REGISTERED)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def executor_addresses(self) -> list[str]:
        """Where its executors run."""
        return [host.address for host in self._hosts[1:]]
