"""A Spark Connect server with the connector, and what its clients need."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from raft.local.ports import free_ports
from tests.hang import HANG_S
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT, child_environment
from tests.processes.piped_process import PipedProcess

_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer(PipedProcess):
    """A server on loopback; its Python processes run this Python.

    Args:
        folder: gets the files of its tables.
        config: the file with the defaults of options.
    """

    def __init__(self, folder: Path, config: Path) -> None:
        (self._port,) = free_ports(1)
        conf = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
        }
        options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        submit = str(Path(_find_spark_home(), "bin", "spark-submit"))
        command = [submit, "--master", "local[2]", "--class", _MAIN, *options, "spark-internal"]
        environment = child_environment(PYSPARK_PYTHON=sys.executable, PYTHONPATH=str(ROOT), KRAFT_CONFIG=str(config))
        super().__init__("Spark Connect server", command, environment=environment, folder=folder)

    @property
    def url(self) -> str:
        """What clients connect to, once it listens."""
        eventually(lambda: "Spark Connect server started" in self.errors, "it has started", within_s=HANG_S)
        return f"sc://127.0.0.1:{self._port}"


def run_client(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `connect_client.py`, with pyspark and its extra `connect`, and without the packages of this project."""
    fetched = subprocess.run(
        [ROOT / "scripts" / "connect_packages.sh", sys.executable], capture_output=True, text=True, check=True
    )
    packages = [fetched.stdout.strip(), sysconfig.get_path("purelib")]
    environment = child_environment(PYTHONPATH=":".join(packages))
    program = str(Path(__file__).with_name("connect_client.py"))
    # With -S, Python does not process the .pth file by which this checkout is installed.
    return subprocess.run(
        [sys.executable, "-S", program, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
        check=False,
    )
