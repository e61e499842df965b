"""A quorum beside the driver, which runs as long as the Spark application. Its data is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from pyspark.sql import SparkSession

from kraft_spark.handover import hand_over, tell_of_stop
from kraft_spark.listen_address import listen_address
from kraft_spark.quorum_status import QuorumStatus, described_nodes, unknown_nodes
from kraft_spark.running_quorum import RunningQuorum
from kraft_spark.running_services import RunningServices, StartArguments
from kraft_spark.spark_application import SparkApplication
from kraft_spark.tables import html_table
from kraft_spark.worker_python import warn_of_another_python
from raft.errors import QuorumUnavailableError, RaftError
from raft.local import LocalQuorum


class QuorumService:
    """Voters beside the driver of a Spark application, each in a process of its own.

        with QuorumService.start(spark, voters=3, data_dir="metadata") as quorum:
            changes = (
                spark.readStream.format("kraft")
                .option("kraft.bootstrap.servers", quorum.bootstrap_servers)
                .load()
            )

    Only this application, and who can read the data directory, can connect: the voters ask for credentials that were
    made at the first start. The connector of the application has them without any option. For the commands and for
    other applications, `client_config` is the file to give.

    A voter that exits is started again. All voters are stopped when the application ends: by `spark.stop()`, at the end
    of the program, or because the driver is killed. The data directory is kept, and the next start uses its data. The
    voters listen on loopback; for executors on other machines, see the argument `listen` of `start`.

    Several parts of a program may start a quorum on one directory: each has an object of its own for the same voters,
    which stop when the last of these objects is stopped. An object that the program no longer has does not count.

    Args:
        running: the voters, started.
    """

    _running: ClassVar[RunningServices[RunningQuorum]] = RunningServices()

    def __init__(self, running: RunningQuorum) -> None:
        self._shared = running
        self._quorum = running.quorum
        running.join(self)

    @classmethod
    def start(
        cls,
        spark: SparkSession,
        *,
        voters: int = 3,
        data_dir: str | Path,
        base_port: int | None = None,
        settings: Mapping[str, str | int] | None = None,
        listen: str = "loopback",
        metrics: bool = False,
    ) -> Self:
        """Start the voters, and return when they have a leader.

        If this process runs a quorum on the directory already, for example when a cell of a notebook is run again, the
        result is another object for the same voters.

        It warns if Spark's Python workers run another Python than this program, which may lack kraft-spark, and if
        executors may be on other machines, which do not reach the voters.

        Args:
            spark: a session of the application that the quorum runs with.
            voters: number of voters; odd, because a majority decides.
            data_dir: a directory on this machine, for this quorum alone.
            base_port: first of the consecutive ports on loopback; None chooses free ports.
            settings: more properties of the nodes, such as `message.max.bytes`.
            listen: "loopback", for executors on this machine. "driver": on `spark.driver.bindAddress`, and executors
                connect to `spark.driver.host`. Or an address or name of this machine. The voters listen for each other
                on loopback only. Connections use TLS with a certificate authority of the quorum's own.
            metrics: whether the voters serve their metrics: see `metrics_urls`.

        Raises:
            ConfigError: the directory is in use or has another number of voters, this process runs a quorum on it with
                other arguments, a setting is wrong, a voter does not start, or the application is over or runs in
                another process (Spark Connect).
            StorageError: the disk returned an error.
            QuorumUnavailableError: the voters elected no leader within 30 s.
        """
        application = SparkApplication(spark)
        address = listen_address(listen, application)
        warn_of_another_python(application.worker_pythons(), stack_level=2)
        directory = Path(data_dir)
        arguments = StartArguments(
            voters=voters,
            base_port=base_port,
            settings={key: str(value) for key, value in (settings or {}).items()},
            listen=listen,
            metrics=metrics,
        )

        def start() -> RunningQuorum:
            quorum = LocalQuorum.start(
                directory, voters=voters, base_port=base_port, settings=settings, listen=address, metrics=metrics
            )
            try:
                folder = hand_over(application, quorum.client_properties, bootstrap_servers=quorum.bootstrap_servers)
            except BaseException:
                quorum.stop()
                raise

            def when_stopped(stopped: RunningQuorum) -> None:
                tell_of_stop(folder, quorum.data_dir, bootstrap_servers=quorum.bootstrap_servers)
                cls._running.forget(stopped)

            return RunningQuorum(quorum, application.is_over, when_stopped)

        while True:
            service = cls(cls._running.get_or_start(directory, arguments, start, is_usable=RunningQuorum.is_usable))
            # Its last user may have stopped it just now.
            if not service._shared.is_stopped:
                return service

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The value for the option `kraft.bootstrap.servers`."""
        return self._quorum.bootstrap_servers

    @property
    def cluster_id(self) -> str:
        """The cluster's id, for the option `kraft.cluster.id`."""
        return self._quorum.cluster_id

    @property
    def client_config(self) -> str:
        """The path of the properties file for clients: `kraft ... --command-config`, or that of Kafka's tools."""
        return str(self._quorum.client_config)

    @property
    def metrics_urls(self) -> dict[int, str]:
        """Where each voter serves its metrics to Prometheus, by node id; empty unless it was started with `metrics`."""
        endpoints = self._quorum.metrics_endpoints
        return {int(node_id): f"http://{endpoint}/metrics" for node_id, endpoint in endpoints.items()}

    @property
    def pids(self) -> dict[int, int]:
        """Node ids and process ids of the voters that run now."""
        return {int(node_id): pid for node_id, pid in self._quorum.pids.items()}

    def leader_id(self) -> int:
        """Return the node id of the present leader.

        Raises:
            QuorumUnavailableError: the quorum is stopped, or there was no leader for 10 s.
        """
        if self._shared.is_stopped:
            raise QuorumUnavailableError(f"this process has stopped the quorum of {self._quorum.data_dir}")
        with self._quorum.client() as client:
            return int(client.describe_quorum().leader_id)

    def describe(self, *, timeout_ms: int = 2_000) -> QuorumStatus:
        """Return leader, epoch, high watermark and the state of each node, as the leader describes them.

        Without a leader, the result says why no leader responded, and has the processes of the voters only.

        Args:
            timeout_ms: longest wait for a leader.
        """
        problem, description = "the service is stopped", None
        if not self._shared.is_stopped:
            try:
                with self._quorum.client(api_timeout_ms=timeout_ms) as client:
                    description = client.describe_quorum()
            except RaftError as error:
                problem = str(error)
        pids, endpoints = self.pids, self._endpoints
        if description is None:
            nodes = unknown_nodes(pids, endpoints)
        else:
            nodes = described_nodes(description, pids, endpoints, now_ms=int(time.time() * 1000))
        return QuorumStatus(
            cluster_id=self.cluster_id,
            bootstrap_servers=self.bootstrap_servers,
            leader_id=None if description is None else description.leader_id,
            leader_epoch=None if description is None else description.leader_epoch,
            high_watermark=None if description is None else description.high_watermark,
            nodes=nodes,
            problem=problem if description is None else None,
        )

    def __repr__(self) -> str:
        """Return a line about the voters' processes; unlike `describe`, it asks no voter, so it never waits."""
        return (
            f"<QuorumService {self._state()} cluster_id={self.cluster_id} bootstrap_servers={self.bootstrap_servers}>"
        )

    def _repr_html_(self) -> str:
        """Return the same for a notebook, with a table of the voters."""
        pids, endpoints = self.pids, self._endpoints
        rows = [(node_id, pids.get(node_id, "not running"), endpoint) for node_id, endpoint in endpoints.items()]
        facts = [("ClusterId", self.cluster_id), ("BootstrapServers", self.bootstrap_servers)]
        return html_table(f"QuorumService, {self._state()}", facts, ("NodeId", "Pid", "Endpoint"), rows)

    def stop(self) -> None:
        """Stop the voters, and return when they have exited, unless other objects of `start` use them.

        Another call waits and does nothing else: it does not count for another user.
        """
        self._shared.leave(self)

    @property
    def _endpoints(self) -> dict[int, str]:
        """The addresses of the voters, by node id. A local quorum numbers its voters from 1, in this order."""
        return dict(enumerate(self.bootstrap_servers.split(","), start=1))

    def _state(self) -> str:
        if self._shared.is_stopped:
            return "stopped"
        return f"{len(self.pids)} of {len(self._endpoints)} voters running"
