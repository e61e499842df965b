"""An archive of the classes of Kafka, from which its programs start faster.

The JVM's "class data sharing": a JVM that is told so writes the classes that it has loaded at its exit. Others with the
same class path map the file into memory, and read other classes from the jars as usual.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.java.cluster import KafkaServers
from tests.java.kafka import SMALL_JVM, Kafka
from tests.node.harness.properties import HOST


def write_class_archive(kafka: Kafka, archive: Path) -> None:
    """Write the classes that a server loads until a broker is registered.

    Args:
        kafka: the programs.
        archive: the file; written beside it first.
    """
    controller, broker = (Endpoint(HOST, port) for port in free_ports(2))
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        configuration = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": str(controller),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "log.dirs": f"{folder}/data",
        }
        partial = Path(folder) / archive.name
        servers = KafkaServers(
            kafka,
            Path(folder),
            {"server": configuration},
            broker=broker,
            standalone="server",
            jvm=[*SMALL_JVM, f"-XX:ArchiveClassesAtExit={partial}", "-Xlog:disable"],
        )
        with servers.start():
            servers.stop()
        partial.rename(archive)
