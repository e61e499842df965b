"""The Spark application of a session: whether it has ended, and which Pythons Spark runs for it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from datasource.spark_internals.jvm import environment_variable, has_jvm, java_context
from kraft_spark.worker_python import WorkerPython
from raft.errors import ConfigError
from raft.local import ListenAddress


class SparkApplication:
    """The application of a session.

    Args:
        spark: a session of this process whose application runs.

    Raises:
        ConfigError: the application runs in another process (Spark Connect), or has ended.
    """

    def __init__(self, spark: SparkSession) -> None:
        if not has_jvm(spark):
            raise ConfigError("QuorumService needs a classic SparkSession, whose driver is this process")
        self._python_context = spark.sparkContext
        context = java_context(self._python_context)
        if context is None or context.isStopped():
            raise ConfigError("QuorumService needs a SparkSession that is not stopped")
        self._context = context

    def is_over(self) -> bool:
        """Return whether the application, or its JVM, has ended."""
        try:
            return bool(self._context.isStopped())
        except (Py4JError, OSError):
            return True

    @property
    def is_local(self) -> bool:
        """Whether its executors are on this machine."""
        return str(self._context.master()).startswith("local")

    @property
    def is_one_process(self) -> bool:
        """Whether its tasks run in the JVM of its driver."""
        master = str(self._context.master())
        return master == "local" or master.startswith("local[")

    @property
    def authenticates(self) -> bool:
        """Whether driver and executors ask each other who they are (`spark.authenticate`)."""
        return self._python_context.getConf().get("spark.authenticate", "false") == "true"

    def add_file(self, path: Path) -> None:
        """Let Spark bring a file to the driver and each executor."""
        self._python_context.addFile(str(path))

    @property
    def driver_address(self) -> ListenAddress:
        """Where the driver listens for executors, and the host by which they reach it."""
        host = self._python_context.getConf().get("spark.driver.host")
        if host is None:
            raise ConfigError('listen="driver": this application has no spark.driver.host; name an address instead')
        return ListenAddress(self._python_context.getConf().get("spark.driver.bindAddress") or host, host)

    def worker_pythons(self) -> list[WorkerPython]:
        """Return the Pythons that Spark runs for it: the one that plans reads and writes, and the one of functions.

        The first one comes from the environment with which the JVM was started, independent of `spark.pyspark.python`
        and of later changes by this program.

        Source: Spark's PythonUtils.defaultPythonExec; PySpark's SparkContext.pythonExec.
        """
        environment = partial(environment_variable, self._python_context)
        path = environment("PATH")
        variable = "PYSPARK_DRIVER_PYTHON" if environment("PYSPARK_DRIVER_PYTHON") else "PYSPARK_PYTHON"
        return [
            WorkerPython(command=environment(variable) or "python3", variable=variable, path=path),
            WorkerPython(
                command=self._python_context.pythonExec,
                variable="PYSPARK_PYTHON",
                path=path,
                runs_here=self.is_local,
            ),
        ]
