"""One broker of Apache Kafka with its controller in the same process, with the default configuration."""

from __future__ import annotations

from pathlib import Path

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.java.cluster import KafkaServers
from tests.java.kafka import Kafka
from tests.node.harness.properties import HOST

SMALL_HEAP = ("-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
"""The settings of the garbage collector are those of Kafka's start script; the heap is half of Kafka's."""


class Broker(KafkaServers):
    """The broker.

    Args:
        kafka: the programs.
        folder: gets its log; must not exist yet.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        broker, controller = (Endpoint(HOST, port) for port in free_ports(2))
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{broker}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(folder / "log"),
            # The defaults require three brokers.
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
        super().__init__(kafka, folder, {"broker": properties}, broker=broker, log_level="warn", jvm=SMALL_HEAP)

    def create_topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic; return its name."""
        self.create_topics(name, partitions=partitions)
        return name
