"""One broker of Apache Kafka's with its controller in the same process, with the default configuration."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.java.kafka import Kafka, MainClass, java_command
from tests.java.processes import Server
from tests.node.harness.properties import write_properties
from tests.node.harness.waiting import eventually

SMALL_HEAP = ("-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
"""The collector's settings are those of Kafka's own start script; the heap is half of it."""

_CLUSTER_ID = "a2Fma2EtY2x1c3Rlci1pZA"
_START_S = 120


class Broker:
    """The broker; the end of the block kills it.

    Args:
        kafka: the programs.
        folder: holds its log; must not be there yet.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._kafka = kafka
        self._config = folder / "server.properties"
        broker, controller = (Endpoint("127.0.0.1", port) for port in free_ports(2))
        self._endpoint = broker
        write_properties(
            self._config,
            {
                "process.roles": "broker,controller",
                "node.id": "1",
                "controller.quorum.voters": f"1@{controller}",
                "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
                "advertised.listeners": f"PLAINTEXT://{broker}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "log.dirs": str(folder / "log"),
                # With one broker there is nobody to replicate to.
                "offsets.topic.replication.factor": "1",
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.min.isr": "1",
            },
        )
        command = java_command(kafka.jars, MainClass.SERVER, str(self._config), log_level="warn", jvm=SMALL_HEAP)
        self._server = Server("Kafka's broker", command, log_file=folder / "broker.log")

    def __enter__(self) -> Self:
        storage = self._kafka.program(MainClass.STORAGE)
        storage.output("format", "--cluster-id", _CLUSTER_ID, "--config", str(self._config), timeout_s=_START_S)
        try:
            self._server.start()
            self._server.wait_until_listening(self._endpoint, timeout_s=_START_S)
            eventually(lambda: self._admin.list_topics(timeout=5).brokers, "the broker is registered", within_s=60)
        except BaseException:
            self._server.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.kill()

    @property
    def servers(self) -> str:
        """Where it listens, as clients take it: host:port."""
        return str(self._endpoint)

    def create_topic(self, name: str, partitions: int = 1) -> str:
        """Make a topic; return its name."""
        for future in self._admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(timeout=60)
        return name

    @cached_property
    def _admin(self) -> AdminClient:
        # Below errors: that the broker is gone in the end is no news.
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 2})
