"""Apache Kafka's own programs."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from tests.hang import HANG_S
from tests.node.harness.properties import Properties
from tests.processes.finished import Finished, run_to_end
from tests.processes.node_process import NodeProcess
from tests.processes.piped_process import PipedProcess
from tests.processes.server import Server

SMALL_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")

_SNAPSHOTTING_RAFT_SERVER = Path(__file__).parent / "programs" / "SnapshottingRaftServer.java"


class MainClass(StrEnum):
    """The programs by their main classes; beside each is the script of Kafka that starts it."""

    METADATA_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"  # kafka-metadata-quorum
    DUMP_LOG_SEGMENTS = "org.apache.kafka.tools.DumpLogSegments"  # kafka-dump-log
    CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"  # kafka-console-producer
    CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"  # kafka-console-consumer
    PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"  # kafka-producer-perf-test
    TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"  # kafka-transactions
    GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"  # kafka-get-offsets
    STORAGE = "kafka.tools.StorageTool"  # kafka-storage
    CONFIGS = "kafka.admin.ConfigCommand"  # kafka-configs
    SERVER = "kafka.Kafka"  # kafka-server-start
    RAFT_SERVER = "kafka.tools.TestRaftServer"  # test-kraft-server-start


class Kafka:
    """One version of Kafka.

    Args:
        jars: the folder of its jars.
        class_archive: see `write_class_archive`; None if it was not written.
    """

    def __init__(self, jars: Path, class_archive: Path | None = None) -> None:
        self._jars = jars
        self._archived = [] if class_archive is None else [f"-XX:SharedArchiveFile={class_archive}"]

    def run(self, main_class: MainClass, *arguments: str, stdin: bytes = b"", within_s: float = HANG_S) -> Finished:
        """Run a program to its end, whatever its exit code; it logs warnings and errors to standard error."""
        command = self._command(main_class, *arguments, log_level="warn", jvm=SMALL_JVM)
        return run_to_end(main_class.name, command, stdin=stdin, within_s=within_s)

    def output(self, main_class: MainClass, *arguments: str, stdin: bytes = b"", within_s: float = HANG_S) -> str:
        """Run a program and return its standard output.

        Raises:
            AssertionError: its exit code is not 0.
        """
        return self.run(main_class, *arguments, stdin=stdin, within_s=within_s).require_success()

    def start(self, main_class: MainClass, *arguments: str) -> PipedProcess:
        """Start a program, to be written to and read from while it runs; it logs as in `run`."""
        return PipedProcess(main_class.name, self._command(main_class, *arguments, log_level="warn", jvm=SMALL_JVM))

    def run_source(self, source: Path, *arguments: str, within_s: float = HANG_S) -> str:
        """Run a program of one Java file, with Kafka's clients; return its standard output.

        Raises:
            AssertionError: its exit code is not 0.
        """
        return run_to_end(source.name, self._source_command(source, *arguments), within_s=within_s).require_success()

    def start_source(self, source: Path, *arguments: str) -> PipedProcess:
        """Start a program of one Java file, with Kafka's clients."""
        return PipedProcess(source.name, self._source_command(source, *arguments))

    def server(
        self, config_file: Path, *, log_file: Path, log_level: str = "info", jvm: Sequence[str] = SMALL_JVM
    ) -> Server:
        """Return a broker or a controller, not started yet.

        Args:
            config_file: its properties.
            log_file: gets its output.
            log_level: the lowest level that it logs.
            jvm: options of its JVM.
        """
        command = self._command(MainClass.SERVER, str(config_file), log_level=log_level, jvm=jvm)
        return Server(config_file.stem, command, log_file=log_file)

    def raft_server(
        self,
        properties: Properties,
        folder: Path,
        *,
        records_per_s: int,
        record_bytes: int = 256,
        snapshot_records: int | None = None,
        log_level: str = "info",
        jvm: Sequence[str] = SMALL_JVM,
    ) -> NodeProcess:
        """Return a TestRaftServer, not started yet: a node without a broker, which writes records while it leads.

        Args:
            properties: its configuration; see `raft_server_voters`.
            folder: see `NodeProcess`.
            records_per_s: how many it writes, if it can.
            record_bytes: the size of each.
            snapshot_records: it writes a snapshot after so many records, and cuts its log; None for no snapshots.
            log_level: the lowest level that it logs.
            jvm: options of its JVM.
        """
        # It stores no directory id, so it gets one at every start.
        directory_id = base64.urlsafe_b64encode(bytes([int(properties["node.id"])] * 16)).decode().rstrip("=")
        arguments = {
            "--replica-directory-id": directory_id,
            "--throughput": str(records_per_s),
            "--record-size": str(record_bytes),
        }
        if snapshot_records is not None:
            arguments["--snapshot-records"] = str(snapshot_records)
        words = [word for pair in arguments.items() for word in pair]
        program = MainClass.RAFT_SERVER if snapshot_records is None else str(_SNAPSHOTTING_RAFT_SERVER)
        command = self._command(program, *words, log_level=log_level, jvm=jvm)
        return NodeProcess(properties, folder, command=command)

    def _source_command(self, source: Path, *arguments: str) -> list[str]:
        return ["java", *SMALL_JVM, *_logging("warn"), "-cp", f"{self._jars}/*", str(source), *arguments]

    def _command(self, main_class: str, *arguments: str, log_level: str, jvm: Sequence[str]) -> list[str]:
        return [
            "java",
            *jvm,
            *self._archived,
            *_logging(log_level),
            "-cp",
            f"{self._jars}/*",
            main_class,
            *arguments,
        ]


def _logging(log_level: str) -> list[str]:
    return [
        f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    ]
