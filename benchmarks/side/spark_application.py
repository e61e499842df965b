"""A Spark application that is called: reads and writes of any source and sink, and how long they take.

python -P -m benchmarks.side.spark_application SPARK_FOLDER [JARS]
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.side.appends import appends_by_client, appends_by_librdkafka, client_of
from benchmarks.side.bulk import fill_by_client, fill_by_librdkafka
from benchmarks.side.calls import answer_calls
from benchmarks.side.latency import latencies
from benchmarks.side.ready_made import ReadyMade

Options = dict[str, str]

_LONGEST_S = 200.0
_KEY = "cast(concat('key-', lpad(cast(value % 9000 as string), 6, '0')) as binary) AS key"
_VALUE = "cast(repeat('x', 100) as binary) AS value"


class Application:
    """Its functions. Times are in seconds; a checkpoint is a folder that is not there yet."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def count(self, format: str, options: Options) -> int:
        """Count the rows of a batch read."""
        return self._spark.read.format(format).options(**options).load().count()

    def read(self, format: str, options: Options) -> float:
        """Read all there is into nothing."""
        frame = self._spark.read.format(format).options(**options).load()
        started = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - started

    def stream(self, format: str, options: Options, checkpoint: str) -> dict[str, float]:
        """Read all there is as a stream into nothing, from its start to its end."""
        started = time.perf_counter()
        reader = self._spark.readStream.format(format).options(**options).option("startingOffsets", "earliest")
        writer = reader.load().writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - started
        batches = [progress for progress in query.recentProgress if progress.numInputRows]
        return {
            "seconds": seconds,
            "rows": sum(progress.numInputRows for progress in batches),
            "batches": len(batches),
        }

    def sink(
        self, format: str, options: Options, checkpoint: str, rows_a_batch: int, batches: int, first_batches: int
    ) -> float:
        """Write a stream of equal micro-batches; return the median time of one.

        Args:
            format, options: of the sink.
            checkpoint: see above.
            rows_a_batch: how many.
            batches: how many count.
            first_batches: how many before them do not.
        """
        source = self._spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows_a_batch)
        rows = source.option("numPartitions", 2).load().selectExpr(_KEY, _VALUE)
        query = rows.writeStream.format(format).options(**options).option("checkpointLocation", checkpoint).start()
        last_batch_id = first_batches + batches - 1
        deadline_s = time.monotonic() + _LONGEST_S
        try:
            while query.isActive and ((last := query.lastProgress) is None or last.batchId < last_batch_id):
                if time.monotonic() > deadline_s:
                    raise TimeoutError(f"{format}: micro-batch {last_batch_id} is not done within {_LONGEST_S:g} s")
                time.sleep(0.05)
            counted = [
                progress
                for progress in query.recentProgress
                if progress.batchId >= first_batches and progress.numInputRows == rows_a_batch
            ]
        finally:
            query.stop()
        error = query.exception()
        if error is not None:
            raise error
        return statistics.median(progress.durationMs["triggerExecution"] for progress in counted) / 1000

    def latency(
        self, format: str, options: Options, checkpoint: str, samples: int, servers: str, topic: str | None = None
    ) -> dict[str, float]:
        """Append under a running query: by librdkafka where a topic is given, else by this project's client.

        Returns:
            How long after the acknowledgement the function of foreachBatch had the record.
        """
        append = appends_by_client(client_of(servers)) if topic is None else appends_by_librdkafka(servers, topic)
        return latencies(self._spark, append, format=format, options=options, checkpoint=checkpoint, samples=samples)


def make_session(folder: Path, jars: str) -> SparkSession:
    """Start Spark as a small application has it, with this very Python in its workers."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.appName("benchmark")
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.numRecentProgressUpdates", "2000")
        .config("spark.driver.memory", "1g")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    )
    if jars:
        builder = builder.config("spark.jars", jars)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(ReadyMade)
    return spark


def main() -> None:
    """Answer calls until standard input ends."""
    folder, *jars = sys.argv[1:]
    spark = make_session(Path(folder), "".join(jars))
    application = Application(spark)
    functions = (
        fill_by_client,
        fill_by_librdkafka,
        application.count,
        application.read,
        application.stream,
        application.sink,
        application.latency,
    )
    answer_calls({function.__name__: function for function in functions})
    spark.stop()


if __name__ == "__main__":
    main()
