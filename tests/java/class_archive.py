"""An archive of the classes of Kafka, from which its programs start faster.

This is the class data sharing of the JVM. With the option ArchiveClassesAtExit, a JVM writes the classes that it has
loaded to a file when it exits. Later JVMs with the same class path map the file into memory, and load all other classes
from the jars.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.java.cluster import BROKER_ID, KafkaServers, listener_properties
from tests.java.kafka import SMALL_JVM, Kafka
from tests.node.harness.properties import HOST


def write_class_archive(kafka: Kafka, archive: Path) -> None:
    """Write the classes that a server loads until a broker is registered.

    Args:
        kafka: the programs.
        archive: the file to write; it appears when it is complete.
    """
    controller, broker = (Endpoint(HOST, port) for port in free_ports(2))
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        configuration = {
            **listener_properties(controller),
            "process.roles": "broker,controller",
            "node.id": str(BROKER_ID),
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
