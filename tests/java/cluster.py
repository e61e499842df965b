"""Kafka's own brokers and controllers as processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.hang import HANG_S
from tests.java.kafka import SMALL_JVM, Kafka, MainClass
from tests.node.harness.properties import HOST, write_properties
from tests.node.harness.waiting import eventually

CONTROLLER_ID = 3000
BROKER_ID = 1
CLUSTER_ID = "a2Fma2EtY2x1c3Rlci1pZA"


_CLUSTER_SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "num.partitions": "1",
    "log.flush.interval.messages": "1",
    # By default the controller appends a record without content twice a second.
    "metadata.max.idle.interval.ms": "0",
}


def listener_properties(controller: Endpoint) -> dict[str, str]:
    """Return the properties with which a server finds the controller and names its own listeners.

    Args:
        controller: where the controller listens.
    """
    return {
        "controller.quorum.bootstrap.servers": str(controller),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }


class KafkaServers:
    """Servers of Kafka with one broker; the end of the block kills all of them.

    Args:
        kafka: the programs.
        folder: gets a file of properties and one of output for each server.
        configurations: the properties of each server by a name for its files; the last one is the broker.
        broker: where the broker listens.
        standalone: the server that is formatted as the only voter of a quorum in its log; None if none is.
        log_level: see `Kafka.server`.
        jvm: see `Kafka.server`.

    Attributes:
        broker: where the broker listens.
    """

    def __init__(
        self,
        kafka: Kafka,
        folder: Path,
        configurations: Mapping[str, Mapping[str, str]],
        *,
        broker: Endpoint,
        standalone: str | None = None,
        log_level: str = "info",
        jvm: Sequence[str] = SMALL_JVM,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.broker = broker
        self._kafka = kafka
        self._standalone = standalone
        self._config_files = {
            name: write_properties(folder / f"{name}.properties", properties)
            for name, properties in configurations.items()
        }
        self._servers = [
            kafka.server(config_file, log_file=folder / f"{name}.log", log_level=log_level, jvm=jvm)
            for name, config_file in self._config_files.items()
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in reversed(self._servers):
            server.kill()

    @property
    def bootstrap_servers(self) -> str:
        """The address of the broker as the option of a client: host:port."""
        return str(self.broker)

    def start(self) -> Self:
        """Format the log directories, start all servers, and wait until the broker is registered."""
        for name, config_file in self._config_files.items():
            options = ["--standalone"] if name == self._standalone else []
            arguments = ("format", "--cluster-id", CLUSTER_ID, "--config", str(config_file), *options)
            self._kafka.output(MainClass.STORAGE, *arguments, within_s=HANG_S)
        try:
            for server in self._servers:
                server.start()
            self._servers[-1].wait_until_listening(self.broker, within_s=HANG_S)
            eventually(lambda: self._admin.list_topics(timeout=5).brokers, "the broker is registered")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def stop(self) -> None:
        """Request all servers to exit, and wait until they have; the end of the block kills them instead."""
        for server in reversed(self._servers):
            server.stop()

    def create_topics(self, *names: str, partitions: int = 1) -> None:
        """Create topics, each of them a few records in the metadata.

        Args:
            names: of the topics.
            partitions: of each topic.
        """
        created = self._admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        for future in created.values():
            future.result(timeout=60)

    @cached_property
    def _admin(self) -> AdminClient:
        # Its errors are not logged, because it ends after the broker.
        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 2})


class KafkaCluster(KafkaServers):
    """A controller, which keeps the metadata, and a broker.

    Args:
        kafka: the programs.
        folder: holds all files of both.
        settings: further keys of both.

    Attributes:
        controller: where the controller listens.
        partition: the folder of the controller's log.
    """

    def __init__(self, kafka: Kafka, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.controller, broker = (Endpoint(HOST, port) for port in free_ports(2))
        self.partition = folder / "controller" / "__cluster_metadata-0"
        shared = {**listener_properties(self.controller), **_CLUSTER_SETTINGS, **(settings or {})}
        configurations = {
            "controller": shared
            | {
                "process.roles": "controller",
                "node.id": str(CONTROLLER_ID),
                "listeners": f"CONTROLLER://{self.controller}",
                "log.dirs": str(folder / "controller"),
            },
            "broker": shared
            | {
                "process.roles": "broker",
                "node.id": str(BROKER_ID),
                "listeners": f"PLAINTEXT://{broker}",
                "log.dirs": str(folder / "broker"),
            },
        }
        super().__init__(kafka, folder, configurations, broker=broker, standalone="controller")

    def latest_snapshot(self) -> Path | None:
        """Return the newest snapshot of the controller; the one from formatting does not count."""
        found = [path for path in self.partition.glob("*.checkpoint") if int(path.name[:20])]
        return max(found, default=None)
