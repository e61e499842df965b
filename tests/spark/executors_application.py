"""An application on a local cluster whose executor differs from the driver; prints the errors of its four uses.

python -m tests.spark.executors_application FOLDER

For each of a batch write, a batch read, a stream and a sink, it prints how many lines stand above the message of this
project, and the message; or "done".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from kraft_spark import QuorumService
from tests.spark.frames import SERVERS, Frames
from tests.spark.streams import Input

EXECUTOR_PATH = "KRAFT_TEST_EXECUTOR_PATH"
"""The environment variable with the PYTHONPATH of the executor."""

_BEGINNINGS = ("ImportError: ", "raft.errors.")


def said_by(use: Callable[[], object]) -> str:
    """What Spark says of a use of the data source."""
    try:
        use()
    except Exception as error:
        lines = str(error).splitlines()
        for above, line in enumerate(lines):
            at = [line.find(beginning) for beginning in _BEGINNINGS if beginning in line]
            if at:
                return f"{above} {line[min(at) :]}"
        return str(error)
    return "done"


def main() -> None:
    """Run it."""
    folder = Path(sys.argv[1])
    spark = (
        SparkSession.builder.master("local-cluster[1,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.executorEnv.PYTHONPATH", os.environ[EXECUTOR_PATH])
        .config("spark.executorEnv.KRAFT_TEST_IS_EXECUTOR", "1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    with QuorumService.start(spark, voters=1, data_dir=folder / "quorum") as quorum:
        frames = Frames(spark, quorum.bootstrap_servers)
        source = Input(folder / "input")
        source.add(["x"])

        def stream() -> None:
            read = frames.stream(startingOffsets="earliest").writeStream.format("noop").trigger(availableNow=True)
            read.option("checkpointLocation", str(folder / "read")).start().awaitTermination()

        def sink() -> None:
            written = source.stream(spark).writeStream.format("kraft").option(SERVERS, frames.servers)
            written.option("checkpointLocation", str(folder / "write")).trigger(availableNow=True)
            written.start().awaitTermination()

        rows = spark.range(1).selectExpr("cast(id as string) value")
        for use in (lambda: frames.write(rows), lambda: frames.read().count(), stream, sink):
            print(said_by(use), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
