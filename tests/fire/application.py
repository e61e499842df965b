"""A Spark application that copies the records of one quorum into another until it is killed, or told to finish.

python -m tests.fire.application MASTER SOURCE SINK FOLDER SINK_FORMAT

SOURCE and SINK are the options of the quorums, as JSON; passwords are references. FOLDER has the checkpoint. An
application that is started with the same folder continues the query. It prints lines of JSON:

1. "started": the query runs
2. "finished", after a line on its standard input: the query has copied everything and is stopped; FOLDER has offset and
   checksum of each row of both logs, as batch reads see them (see `read_rows`)
"""

from __future__ import annotations

import json
import sys
import threading
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from raft.types import Offset
from tests.fire.planted import PLANTED, WithoutLastingKey
from tests.processes.commands import ROOT
from tests.spark.frames import SERVERS, Frames
from tests.workload.history import LoggedValue

CHECKPOINT = "checkpoint"
_LOOK_S = 1
_TASKS = 2
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

Options = dict[str, str]

Checksums = list[tuple[Offset, int]]
"""Offset and CRC-32 of the value of each row."""


def main() -> None:
    """Run it."""
    master, source_options, sink_options, folder, sink_format = sys.argv[1:]
    source, sink = json.loads(source_options), json.loads(sink_options)
    spark = _session(master)
    for sink_with_bug in PLANTED.values():
        spark.dataSource.register(sink_with_bug)
    query = _copy(spark, source, sink, Path(folder), sink_format)
    _say(started=query.id)
    told = threading.Event()
    threading.Thread(target=_wait_for_line, args=(told,), daemon=True).start()
    while not told.is_set():
        query.awaitTermination(_LOOK_S)
    query.processAllAvailable()
    query.stop()
    for name, options in (("source", source), ("sink", sink)):
        _save_rows(spark, options, _file(Path(folder), name))
    _say(finished=True)
    spark.stop()


def _session(master: str) -> SparkSession:
    spark: SparkSession = (
        SparkSession.builder.appName("fire")
        .master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "500m")
        .config("spark.executor.extraJavaOptions", _JVM)
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        .config("spark.executorEnv.PYSPARK_PYTHON", sys.executable)
        .config("spark.sql.shuffle.partitions", "2")
        # A task on a suspended executor gets a twin, and both may write.
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "200ms")
        .config("spark.speculation.multiplier", "1.5")
        .config("spark.speculation.quantile", "0.5")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("WARN")
    return spark


def _copy(spark: SparkSession, source: Options, sink: Options, folder: Path, sink_format: str) -> StreamingQuery:
    options = sink | {"checkpointLocation": str(folder / CHECKPOINT)}
    if sink_format == WithoutLastingKey.name():
        options[WithoutLastingKey.RUN] = str(uuid.uuid4())
    return (
        Frames(spark, source[SERVERS])
        .stream(**source, startingOffsets="earliest", minPartitions=_TASKS)
        .select("key", "value")
        .writeStream.format(sink_format)
        .options(**options)
        .trigger(processingTime="0 seconds")
        .start()
    )


def _save_rows(spark: SparkSession, options: Options, path: Path) -> None:
    rows = (
        Frames(spark, options[SERVERS])
        .read(**options, minPartitions=_TASKS)
        .selectExpr("offset", "crc32(value) checksum")
        .toArrow()
    )
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


def read_rows(folder: Path, name: str) -> Checksums:
    """Return what the batch read of a log saw, in the order of the offsets.

    Args:
        folder: of the application.
        name: "source" or "sink".
    """
    with pa.memory_map(str(_file(folder, name))) as file:
        table = pa.ipc.open_file(file).read_all()
    columns = (table.column(column).to_pylist() for column in ("offset", "checksum"))
    return sorted((Offset(offset), checksum) for offset, checksum in zip(*columns, strict=True))


def checksums_of(rows: Iterable[LoggedValue]) -> Checksums:
    """Return the checksums of values."""
    return [(offset, zlib.crc32(value)) for offset, value in rows]


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.arrow"


def _wait_for_line(told: threading.Event) -> None:
    sys.stdin.readline()
    told.set()


def _say(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
