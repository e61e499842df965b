"""One stream writes real changes into a quorum, another one reads them, and leaders are killed meanwhile.

The input is the metadata of every Python distribution installed here: its name and version, and each of its files with
size and hash. `writeStream` writes it into three voters beside the driver, and `readStream` reads it at the same time.
The leader is killed twice with SIGKILL. Then the log is read once more as a batch, and all rows are counted.

make demo        (python -m examples.demo)
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, struct
from pyspark.sql.streaming.query import StreamingQuery

from examples.session import end_session, small_session
from kraft_spark import QuorumService, from_msgpack, to_msgpack

CHANGE = "distribution string, version string, path string, size bigint, hash string"
MICRO_BATCHES = 24
KILL_AFTER_BATCHES = (6, 14)
TIMEOUT_S = 150


def changes_of(distribution: Distribution) -> Iterator[dict[str, object]]:
    """Yield a change for a distribution, and one for each of the files that its RECORD lists."""
    name, version = distribution.metadata["Name"], distribution.version
    yield {"distribution": name, "version": version, "path": "", "size": None, "hash": None}
    for file in distribution.files or []:
        file_hash = f"{file.hash.mode}={file.hash.value}" if file.hash else None
        yield {"distribution": name, "version": version, "path": str(file), "size": file.size, "hash": file_hash}


def write_input(folder: Path) -> int:
    """Write the changes into one file for each micro-batch; return the number of changes."""
    changes = [change for distribution in distributions() for change in changes_of(distribution)]
    folder.mkdir()
    for at in range(MICRO_BATCHES):
        lines = (json.dumps(change) + "\n" for change in changes[at::MICRO_BATCHES])
        (folder / f"{at:03}.json").write_text("".join(lines))
    return len(changes)


def start_writing(spark: SparkSession, folder: Path, servers: str) -> StreamingQuery:
    """Stream the files into the quorum, one in each micro-batch."""
    changes = spark.readStream.schema(CHANGE).option("maxFilesPerTrigger", 1).json(str(folder / "input"))
    key = to_msgpack(struct("distribution", "path"))
    value = to_msgpack(struct("distribution", "version", "path", "size", "hash"))
    return (
        changes.select(key.alias("key"), value.alias("value"))
        .writeStream.format("kraft")
        .option("kraft.bootstrap.servers", servers)
        .option("checkpointLocation", str(folder / "written"))
        .queryName("written")
        .start()
    )


def start_reading(spark: SparkSession, folder: Path, servers: str) -> StreamingQuery:
    """Stream the committed records into files."""
    return (
        spark.readStream.format("kraft")
        .option("kraft.bootstrap.servers", servers)
        .option("startingOffsets", "earliest")
        .load()
        .writeStream.format("parquet")
        .option("path", str(folder / "output"))
        .option("checkpointLocation", str(folder / "read"))
        .queryName("read")
        .start()
    )


def kill_leader(quorum: QuorumService) -> None:
    """Kill the leader's process with SIGKILL, which it cannot handle."""
    leader_id = quorum.leader_id()
    pid = quorum.pids[leader_id]
    os.kill(pid, signal.SIGKILL)
    print(f"  killed leader {leader_id} (process {pid}) with SIGKILL", flush=True)


def batches_done(query: StreamingQuery) -> int:
    """Return the number of micro-batches with rows that a query has completed."""
    if query.exception() is not None:
        raise SystemExit(f"query {query.name} failed: {query.exception()}")
    return sum(1 for progress in query.recentProgress if progress["numInputRows"])


def rows_read(query: StreamingQuery) -> int:
    """Return the number of rows that a query has read."""
    batches_done(query)
    return sum(int(progress["numInputRows"]) for progress in query.recentProgress)


def watch(writing: StreamingQuery, reading: StreamingQuery, quorum: QuorumService, total: int) -> None:
    """Wait until all changes are read, and kill leaders meanwhile."""
    kills = list(KILL_AFTER_BATCHES)
    deadline = time.monotonic() + TIMEOUT_S
    while rows_read(reading) < total:
        if time.monotonic() > deadline:
            raise SystemExit(f"only {rows_read(reading)} of {total} changes were read within {TIMEOUT_S} s")
        if kills and batches_done(writing) >= kills[0]:
            kills.pop(0)
            print(f"  {batches_done(writing)} micro-batches written, {rows_read(reading)} changes read", flush=True)
            kill_leader(quorum)
        time.sleep(0.05)
    if kills:
        raise SystemExit("the streams ended before two leaders were killed")


def main() -> None:
    """Run the demo; exit with code 0 if each change was written and read once."""
    spark = small_session("demo")
    with tempfile.TemporaryDirectory() as name, QuorumService.start(spark, data_dir=Path(name, "quorum")) as quorum:
        folder, servers = Path(name), quorum.bootstrap_servers
        total = write_input(folder / "input")
        print(f"{total} changes in {MICRO_BATCHES} micro-batches; voters are {servers}", flush=True)
        writing, reading = start_writing(spark, folder, servers), start_reading(spark, folder, servers)
        watch(writing, reading, quorum, total)
        micro_batches = batches_done(writing)
        writing.stop()
        reading.stop()
        streamed = spark.read.parquet(str(folder / "output"))
        backfill = (
            spark.read.format("kraft")
            .option("kraft.bootstrap.servers", servers)
            .option("includeControlRecords", "true")
            .load()
            .cache()
        )
        is_exactly_once = report(total, micro_batches, streamed, backfill)
    end_session(spark)
    sys.exit(0 if is_exactly_once else 1)


def report(total: int, micro_batches: int, streamed: DataFrame, backfill: DataFrame) -> bool:
    """Count the changes, show some, and return whether each was written and read once."""
    data = backfill.where("control is null")
    control = backfill.where("control is not null")
    leader_changes = control.where("get_json_object(control, '$.type') = 'LeaderChange'").count() - 1
    last = backfill.selectExpr("max(offset)").collect()[0][0]
    backfilled, streamed_rows = data.count(), streamed.count()
    log_duplicates = backfilled - data.select("key").distinct().count()
    stream_duplicates = streamed_rows - streamed.select("key").distinct().count()
    print(f"changes in          {total}")
    print(f"read as a stream    {streamed_rows}, duplicates {stream_duplicates}")
    print(f"read as a batch     {backfilled}, duplicates {log_duplicates}")
    print(f"micro-batches       {micro_batches}")
    print(f"leader changes      {leader_changes}")
    print(f"offsets             0 to {last}, of which {control.count()} are control records")
    changes = data.select("offset", "epoch", from_msgpack("value", CHANGE).alias("change"))
    changes.where(col("change.path") != "").select("offset", "epoch", "change.*").orderBy("offset").show(8, truncate=40)
    is_exactly_once = total == streamed_rows == backfilled and not log_duplicates and not stream_duplicates
    print("no change was lost or duplicated" if is_exactly_once else "FAILED: the counts differ")
    return is_exactly_once


if __name__ == "__main__":
    main()
