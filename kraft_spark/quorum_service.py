"""A quorum as a service of the driver: it lives as long as the Spark application, and its data longer."""

from __future__ import annotations

import atexit
import logging
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from pyspark.sql import SparkSession

from kraft_spark.running_services import RunningServices, StartArguments
from kraft_spark.spark_application import SparkApplication
from kraft_spark.worker_python import warn_of_another_python
from raft.local import LocalQuorum

_logger = logging.getLogger(__name__)

_LOOK_S = 0.5


class QuorumService:
    """Voters beside a Spark application's driver, each in a process of its own.

        with QuorumService.start(spark, voters=3, data_dir="metadata") as quorum:
            changes = (
                spark.readStream.format("kraft")
                .option("kraft.bootstrap.servers", quorum.bootstrap_servers)
                .load()
            )

    A voter that dies is started again. All are stopped when the application ends, however it ends: by `spark.stop()`,
    at the end of the program, or because the driver is killed. The data directory stays, and the next start recovers
    what is in it. The voters listen on loopback: for executors on other machines, run nodes with `kraft serve`.

    Args:
        quorum: the voters, started.
        is_over: whether the application has ended; asked now and then.
    """

    _running: ClassVar[RunningServices[QuorumService]] = RunningServices()

    def __init__(self, quorum: LocalQuorum, is_over: Callable[[], bool]) -> None:
        self._quorum = quorum
        self._is_over = is_over
        self._is_stopped = threading.Event()
        self._watch = threading.Thread(target=self._stop_with_application, name="application's watch", daemon=True)
        self._watch.start()
        atexit.register(self.stop)

    @classmethod
    def start(
        cls,
        spark: SparkSession,
        *,
        voters: int = 3,
        data_dir: str | Path,
        base_port: int | None = None,
        settings: Mapping[str, str | int] | None = None,
    ) -> Self:
        """Start the voters and return once they have a leader.

        Where this process runs a quorum on the directory already, as after a notebook's cell is run again, that one is
        returned: the same object.

        Warns when Spark's Python workers run another Python than this program, which may have no kraft-spark; and when
        executors may be on other machines, which do not reach the voters.

        Args:
            spark: the application that the quorum lives with.
            voters: how many; an odd number, as a majority decides.
            data_dir: a directory on this machine, for this quorum alone.
            base_port: first of the consecutive ports on loopback; None picks free ones.
            settings: further keys of the nodes' configuration, such as `message.max.bytes`.

        Raises:
            ConfigError: the directory is in use or holds another number of voters, this process runs a quorum on it
                with other arguments, a setting is wrong, a voter does not start, or the application is over or runs
                elsewhere (Spark Connect).
            StorageError: the disk refuses.
            QuorumUnavailableError: the voters found no leader within 30 s.
        """
        application = SparkApplication(spark)
        if not application.is_local:
            _warn_of_distant_executors()
        warn_of_another_python(application.worker_pythons(), stack_level=2)
        directory = Path(data_dir)
        arguments = StartArguments(
            voters=voters,
            base_port=base_port,
            settings={key: str(value) for key, value in (settings or {}).items()},
        )

        def start() -> QuorumService:
            quorum = LocalQuorum.start(directory, voters=voters, base_port=base_port, settings=settings)
            return cls(quorum, application.is_over)

        found = cls._running.get_or_start(directory, arguments, start, is_usable=cls._is_usable)
        assert isinstance(found, cls), f"a {type(found).__name__} runs on {directory}"
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """What to give as `kraft.bootstrap.servers`."""
        return self._quorum.bootstrap_servers

    @property
    def cluster_id(self) -> str:
        """The cluster's id, for the option `kraft.cluster.id`."""
        return self._quorum.cluster_id

    @property
    def pids(self) -> dict[int, int]:
        """Node ids and processes of the voters that run now."""
        return {int(node_id): pid for node_id, pid in self._quorum.pids.items()}

    def leader_id(self) -> int:
        """Node id of the present leader.

        Raises:
            QuorumUnavailableError: there is none for 10 s.
        """
        with self._quorum.client() as client:
            return int(client.describe_quorum().leader_id)

    def stop(self) -> None:
        """Return when the voters have ended, whoever stops them; a further call does nothing."""
        self._is_stopped.set()
        self._quorum.stop()
        # Not before: should this be interrupted, the end of the program finishes it.
        atexit.unregister(self.stop)
        self._running.forget(self)

    def _is_usable(self) -> bool:
        """Whether this quorum may be given out again; it stops first if its application is over."""
        if not self._is_stopped.is_set() and not self._is_over():
            return True
        self.stop()
        return False

    def _stop_with_application(self) -> None:
        """Ask now and then whether the application still runs.

        A SparkListener would be told, but it would be called back from the JVM for every task and stage besides.
        """
        while not self._is_stopped.wait(_LOOK_S):
            if self._is_over():
                _logger.info("the Spark application has ended; the voters stop")
                self.stop()


def _warn_of_distant_executors() -> None:
    warnings.warn(
        "the voters of QuorumService listen on 127.0.0.1, and the executors of this application may be on other "
        "machines: their tasks would find no leader. For those, run nodes on hosts that they reach, with kraft serve.",
        stacklevel=3,
    )
