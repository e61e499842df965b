"""A Spark application whose functions are called: they time reads and writes of any source and sink.

python -P -m benchmarks.side.spark_application SPARK_FOLDER [JARS]
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import max_by, struct

from benchmarks.side.appends import appends_by_client, appends_by_librdkafka, client_of
from benchmarks.side.bulk import fill_by_client, fill_by_librdkafka, fill_keys_by_client
from benchmarks.side.calls import answer_calls
from benchmarks.side.latency import latencies
from benchmarks.side.ready_made import ReadyMade

Options = dict[str, str]

_LONGEST_S = 200.0
_KEY = "cast(concat('key-', lpad(cast(value % 9000 as string), 6, '0')) as binary) AS key"
_VALUE = "cast(repeat('x', 100) as binary) AS value"


class Application:
    """Its functions. Times are in seconds; a checkpoint is a folder that does not exist yet."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def count(self, format: str, options: Options) -> int:
        """Count the rows of a batch read."""
        return self._spark.read.format(format).options(**options).load().count()

    def read(self, format: str, options: Options) -> float:
        """Read all rows and discard them."""
        frame = self._spark.read.format(format).options(**options).load()
        started = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - started

    def newest(self, format: str, options: Options) -> float:
        """Read all rows, and let Spark find the newest one of each key, which are discarded."""
        frame = self._spark.read.format(format).options(**options).load().where("key IS NOT NULL")
        row = struct("value", "offset", "timestamp", "epoch")
        newest = frame.groupBy("key").agg(max_by(row, "offset").alias("row"))
        started = time.perf_counter()
        newest.where("row.value IS NOT NULL").select("key", "row.*").write.format("noop").mode("overwrite").save()
        return time.perf_counter() - started

    def stream(self, format: str, options: Options, checkpoint: str) -> dict[str, float]:
        """Read all rows as a stream, from the start to the end of the log, and discard them."""
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
            rows_a_batch: rows in each micro-batch.
            batches: how many micro-batches count.
            first_batches: how many come before them and do not count.
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

    def write(self, format: str, options: Options, rows: int, times: int) -> float:
        """Write this number of rows from two tasks, several times one after the other; return the time of all."""
        frame = self._spark.range(rows, numPartitions=2).withColumnRenamed("id", "value").selectExpr(_KEY, _VALUE)
        started = time.perf_counter()
        for _ in range(times):
            frame.write.format(format).options(**options).mode("append").save()
        return time.perf_counter() - started

    def latency(
        self, format: str, options: Options, checkpoint: str, samples: int, servers: str, topic: str | None = None
    ) -> dict[str, float]:
        """Append while a query runs: by librdkafka if a topic is given, else by the client of this project.

        Returns:
            The times from the acknowledgement until the function of foreachBatch got the record; see `latencies`.
        """
        append = appends_by_client(client_of(servers)) if topic is None else appends_by_librdkafka(servers, topic)
        return latencies(self._spark, append, format=format, options=options, checkpoint=checkpoint, samples=samples)


def make_session(folder: Path, jars: str) -> SparkSession:
    """Start Spark with the settings of a small application; its workers run this Python."""
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
    """Respond to calls until standard input ends."""
    folder, *jars = sys.argv[1:]
    spark = make_session(Path(folder), "".join(jars))
    application = Application(spark)
    functions = (
        fill_by_client,
        fill_by_librdkafka,
        fill_keys_by_client,
        application.count,
        application.read,
        application.newest,
        application.stream,
        application.sink,
        application.write,
        application.latency,
    )
    answer_calls({function.__name__: function for function in functions})
    spark.stop()


if __name__ == "__main__":
    main()
