"""Apache Kafka's own programs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from raft.types import Uuid
from tests.java.processes import Finished, Server, run_to_end
from tests.java.seats import Seat

SMALL_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")


class MainClass(StrEnum):
    """The programs by the classes that start them; beside each, the script of Kafka's that does the same."""

    METADATA_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"  # kafka-metadata-quorum
    DUMP_LOG_SEGMENTS = "org.apache.kafka.tools.DumpLogSegments"  # kafka-dump-log
    CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"  # kafka-console-producer
    CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"  # kafka-console-consumer
    PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"  # kafka-producer-perf-test
    STORAGE = "kafka.tools.StorageTool"  # kafka-storage
    SERVER = "kafka.Kafka"  # kafka-server-start
    RAFT_SERVER = "kafka.tools.TestRaftServer"  # test-kraft-server-start


class Kafka:
    """One version of Kafka, as a folder of jars."""

    def __init__(self, jars: Path) -> None:
        self.jars = jars

    def program(self, main_class: MainClass) -> JavaProgram:
        """Return one of its programs."""
        return JavaProgram(self.jars, main_class)

    def raft_server(self, seat: Seat, *, directory_id: Uuid, records_per_s: int, record_bytes: int = 256) -> JavaServer:
        """Return a node of Kafka's own: a quorum without a broker, whose leader writes records as fast as is said.

        Args:
            seat: its place; its topic is `__raft_performance_test`.
            directory_id: of its log directory, which it keeps nowhere.
            records_per_s: how many it writes while it leads.
            record_bytes: of each.
        """
        return self.program(MainClass.RAFT_SERVER).server(
            "--config",
            str(seat.config),
            "--replica-directory-id",
            directory_id,
            "--throughput",
            str(records_per_s),
            "--record-size",
            str(record_bytes),
            log_file=seat.folder / "java.log",
        )


class JavaProgram:
    """A program that runs to its end, or stays as a server; of warnings and worse it tells on standard error."""

    def __init__(self, jars: Path, main_class: MainClass) -> None:
        self._jars = jars
        self._main_class = main_class

    def run(self, *arguments: str, stdin: str = "", timeout_s: float = 60) -> Finished:
        """Run it to its end, whatever that is."""
        command = java_command(self._jars, self._main_class, *arguments, log_level="warn")
        return run_to_end(self._main_class.name, command, stdin=stdin, timeout_s=timeout_s)

    def output(self, *arguments: str, stdin: str = "", timeout_s: float = 60) -> str:
        """Run it and return its standard output.

        Raises:
            AssertionError: its exit code is not 0.
        """
        return self.run(*arguments, stdin=stdin, timeout_s=timeout_s).output()

    def server(self, *arguments: str, log_file: Path) -> JavaServer:
        """Return it as a server, not started yet."""
        return JavaServer(self._jars, self._main_class, *arguments, log_file=log_file)


class JavaServer(Server):
    """A program that stays; its log file has what it logs from INFO on."""

    def __init__(self, jars: Path, main_class: MainClass, *arguments: str, log_file: Path) -> None:
        command = java_command(jars, main_class, *arguments, log_level="info")
        super().__init__(main_class.name, command, log_file=log_file)


def java_command(
    jars: Path, main_class: MainClass, *arguments: str, log_level: str, jvm: Sequence[str] = SMALL_JVM
) -> list[str]:
    """Return the command that runs a class of Kafka's, in a small JVM unless other options of a JVM are given."""
    return [
        "java",
        *jvm,
        f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
        "-cp",
        f"{jars}/*",
        main_class,
        *arguments,
    ]
