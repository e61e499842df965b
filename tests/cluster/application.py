"""An application whose executors run on other hosts. It copies the records of one quorum into another.

python -m tests.cluster.application MASTER ADDRESS FOLDER

Both quorums are voters beside the driver. It prints lines of JSON, in this order, and waits for an empty line on its
standard input where that is said:

1. the processes of the voters: {"source": {"1": pid, ...}, "sink": {...}}, and who leads
2. "input": the rows that it has written into the source, in one batch and in parts, and the hosts of its tasks
3. "copying": a stream from source to sink runs, and its first micro-batch is done; it waits for a line
4. "copied": the rows of source and sink, and the rows that are missing or doubled in the sink
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

from kraft_spark import QuorumService
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT
from tests.spark.frames import Frames

SMALL_ROWS = 100
LARGE_ROWS = 40_000
ROWS_PER_BATCH = 2_000
_PADDING = "x" * 400
"""Makes the large write longer than a batch of at most 8 MiB, so that tasks send parts of it to the leader."""


def main() -> None:
    """Run it."""
    master, address, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    spark = _session(master, address)
    source, sink = (QuorumService.start(spark, data_dir=folder / name, listen="driver") for name in ("source", "sink"))
    _say(
        source=source.pids,
        sink=sink.pids,
        leaders=[source.leader_id(), sink.leader_id()],
        servers=[source.bootstrap_servers, sink.bootstrap_servers],
    )
    frames, copies = Frames(spark, source.bootstrap_servers), Frames(spark, sink.bootstrap_servers)
    frames.write(frames.values(f"small-{number}" for number in range(SMALL_ROWS)))
    frames.write(spark.range(LARGE_ROWS, numPartitions=4).selectExpr(f"concat('large-', id, '{_PADDING}') value"))
    _say(input=len(_values(frames)), hosts=_hosts_of_tasks(frames.read(minPartitions=8)))
    query = (
        frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=ROWS_PER_BATCH)
        .select("key", "value")
        .writeStream.format("kraft")
        .option("kraft.bootstrap.servers", sink.bootstrap_servers)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    eventually(lambda: query.lastProgress, "a micro-batch is done", within_s=120)
    _say(copying=True)
    sys.stdin.readline()
    query.processAllAvailable()
    query.stop()
    wanted, found = Counter(_values(frames)), Counter(_values(copies))
    _say(
        copied=[wanted.total(), found.total()],
        lost=len(wanted - found),
        doubled=len(found - wanted),
        hosts=_hosts_of_tasks(copies.read(minPartitions=8)),
    )
    spark.stop()


def _session(master: str, address: str) -> SparkSession:
    spark: SparkSession = (
        SparkSession.builder.appName("cluster")
        .master(master)
        .config("spark.driver.host", address)
        .config("spark.driver.bindAddress", address)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "500m")
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        .config("spark.executorEnv.PYSPARK_PYTHON", sys.executable)
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _values(frames: Frames) -> list[str]:
    read = frames.read().selectExpr("cast(value as string)")
    return [value.removesuffix(_PADDING) for (value,) in read.toLocalIterator()]


def _hosts_of_tasks(read: DataFrame) -> list[str]:
    """Return where the tasks of a read run."""

    def where(_rows: Iterable[Row]) -> Iterable[str]:
        yield os.environ["SPARK_LOCAL_IP"]

    return sorted(set(read.rdd.mapPartitions(where).collect()))


def _say(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
