"""Memory of all processes during one large write: the driver, its JVM, the tasks, and each voter.

python -m benchmarks.memory [--gigabytes 2] [--tasks 4]

It prints the resident memory of each process at its start, its largest value, and the difference. The exit code is 1 if
a process grew by more than 400 MB, or if rows are missing after the write.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil
from pyspark.sql import SparkSession

from kraft_spark import QuorumService

LIMIT_MB = 400
_MB = 1e6
_VALUE_BYTES = 1_000
_EVERY_S = 0.1


@dataclass(slots=True)
class Usage:
    """Resident memory of one process, in bytes."""

    role: str
    start: int
    largest: int


class Sampler(threading.Thread):
    """Samples the memory of this process, its JVM and their children, and of the voters.

    Args:
        voters: role of each voter, by its process id.
    """

    def __init__(self, voters: dict[int, str]) -> None:
        super().__init__(daemon=True)
        self.usages: dict[int, Usage] = {}
        self._voters = voters
        self._is_over = threading.Event()

    def run(self) -> None:
        """Sample until `stop`."""
        while not self._is_over.wait(_EVERY_S):
            self.sample()

    def stop(self) -> None:
        """Sample no more."""
        self._is_over.set()
        self.join()

    def sample(self) -> None:
        """Take one sample of each process."""
        own = psutil.Process()
        for process in [own, *own.children(recursive=True)]:
            try:
                resident = process.memory_info().rss
                usage = self.usages.setdefault(process.pid, Usage(self._role(process), resident, resident))
            except psutil.NoSuchProcess:
                continue
            usage.largest = max(usage.largest, resident)

    def _role(self, process: psutil.Process) -> str:
        if process.pid == os.getpid():
            return "driver"
        if process.pid in self._voters:
            return self._voters[process.pid]
        command = " ".join(process.cmdline())
        if "java" in process.name():
            return "driver's JVM"
        return "Python worker" if "pyspark" in command else process.name()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the write; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="Memory during one large write.")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="size of the values")
    parser.add_argument("--tasks", type=int, default=4, help="tasks of the write")
    given = parser.parse_args(arguments)
    rows = int(given.gigabytes * 1e9) // _VALUE_BYTES
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder, QuorumService.start(spark, data_dir=folder) as quorum:
        options = {"kraft.bootstrap.servers": quorum.bootstrap_servers}

        def write(count: int) -> None:
            frame = spark.range(count, numPartitions=given.tasks).selectExpr(f"rpad(id, {_VALUE_BYTES}, 'x') value")
            frame.write.format("kraft").options(**options).mode("append").save()

        write(1_000)
        sampler = Sampler(_roles_of(quorum))
        sampler.sample()
        sampler.start()
        started_s = time.monotonic()
        write(rows)
        seconds = time.monotonic() - started_s
        sampler.stop()
        found = spark.read.format("kraft").options(**options).load().count() - 1_000
    spark.stop()
    rate = rows * _VALUE_BYTES / seconds / _MB
    print(f"{rows:,} rows of {_VALUE_BYTES} B in one write: {seconds:.1f} s, {rate:.0f} MB/s")
    grown = _print_table(sampler.usages)
    print(f"{found:,} rows are in the log")
    return 0 if found == rows and grown <= LIMIT_MB else 1


def _roles_of(quorum: QuorumService) -> dict[int, str]:
    leader_id = quorum.leader_id()
    return {pid: "leader" if node_id == leader_id else "follower" for node_id, pid in quorum.pids.items()}


def _print_table(usages: dict[int, Usage]) -> float:
    """Print a line for each process; return the largest growth in MB."""
    print(f"{'process':16} {'pid':>8} {'start MB':>9} {'largest MB':>11} {'growth MB':>10}")
    for pid, usage in sorted(usages.items(), key=lambda item: (item[1].role, item[0])):
        start, largest = usage.start / _MB, usage.largest / _MB
        print(f"{usage.role:16} {pid:8} {start:9.0f} {largest:11.0f} {largest - start:10.0f}")
    return max((usage.largest - usage.start) / _MB for usage in usages.values())


if __name__ == "__main__":
    sys.exit(main())
