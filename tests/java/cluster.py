"""A whole cluster of Apache Kafka's own: one controller, which keeps the metadata, and one broker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.java.kafka import Kafka, MainClass
from tests.node.harness.properties import write_properties
from tests.node.harness.waiting import eventually

CONTROLLER_ID = 3000
BROKER_ID = 1
CLUSTER_ID = "a2Fma2EtY2x1c3Rlci1pZA"

_SMALL = {
    "offsets.topic.replication.factor": "1",
    "num.partitions": "1",
    "log.flush.interval.messages": "1",
    # A record every half second, as Kafka has it, would make most of the log say nothing.
    "metadata.max.idle.interval.ms": "0",
}


class KafkaCluster:
    """A controller and a broker, each a process of its own; the end of the block stops both.

    Args:
        kafka: the programs.
        folder: where they live.
        settings: further keys of both.
    """

    def __init__(self, kafka: Kafka, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        controller_port, broker_port = free_ports(2)
        self.controller = Endpoint("127.0.0.1", controller_port)
        self.broker = Endpoint("127.0.0.1", broker_port)
        self._kafka = kafka
        shared = {"controller.quorum.bootstrap.servers": str(self.controller), **_SMALL, **(settings or {})}
        self._configs = {
            "controller": folder / "controller.properties",
            "broker": folder / "broker.properties",
        }
        self.log_dir = folder / "controller"
        folder.mkdir(parents=True, exist_ok=True)
        write_properties(
            self._configs["controller"],
            shared
            | {
                "process.roles": "controller",
                "node.id": str(CONTROLLER_ID),
                "listeners": f"CONTROLLER://{self.controller}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
                "log.dirs": str(self.log_dir),
            },
        )
        write_properties(
            self._configs["broker"],
            shared
            | {
                "process.roles": "broker",
                "node.id": str(BROKER_ID),
                "listeners": f"PLAINTEXT://{self.broker}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "log.dirs": str(folder / "broker"),
            },
        )
        program = kafka.program(MainClass.SERVER)
        self.servers = {
            name: program.server(str(config), log_file=folder / f"{name}.log") for name, config in self._configs.items()
        }

    def __enter__(self) -> Self:
        storage = self._kafka.program(MainClass.STORAGE)
        for name, config in self._configs.items():
            standalone = ["--standalone"] if name == "controller" else []
            storage.output("format", "--cluster-id", CLUSTER_ID, "--config", str(config), *standalone)
        try:
            for server in self.servers.values():
                server.start()
            self.servers["broker"].wait_until_listening(self.broker, timeout_s=60)
            eventually(lambda: self._admin().list_topics(timeout=5).brokers, "the broker is registered", within_s=30)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in reversed(self.servers.values()):
            server.kill()

    @property
    def partition(self) -> Path:
        """The folder of the controller's log."""
        return self.log_dir / "__cluster_metadata-0"

    def latest_snapshot(self) -> Path | None:
        """The newest snapshot of the controller; the one that it was formatted with does not count."""
        found = [path for path in self.partition.glob("*.checkpoint") if int(path.name[:20])]
        return max(found, default=None)

    def create_topics(self, *names: str, partitions: int = 1) -> None:
        """Make topics: records in the metadata."""
        admin = self._admin()
        made = admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        for future in made.values():
            future.result(timeout=30)

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": str(self.broker)})
