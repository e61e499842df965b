"""Lag: a stream with a rate limit reads a log that grows faster at first; its lag is plotted in the terminal.

python -m examples.lag_plot
"""

from __future__ import annotations

import tempfile

from pyspark.sql import DataFrame, SparkSession

from examples.session import small_session
from kraft_spark import KraftReadOptions, QueryMonitor, QuorumService

WRITES = 3
ROWS_OF_A_WRITE = 2_000
WIDEST_BAR = 60


def write_rows(spark: SparkSession, servers: str) -> None:
    """Append rows to the log."""
    rows = spark.range(ROWS_OF_A_WRITE).selectExpr("cast(id as string) value")
    rows.write.format("kraft").option("kraft.bootstrap.servers", servers).mode("append").save()


def plot_lag(progress: DataFrame) -> None:
    """Print a bar for each micro-batch: seconds since the first one, and its lag in offsets."""
    rows = progress.selectExpr("unix_millis(timestamp) ms", "coalesce(lag_offsets, 0) lag").orderBy("ms").collect()
    most = max(1, *(row["lag"] for row in rows))
    for row in rows:
        bar = "#" * (WIDEST_BAR * row["lag"] // most)
        print(f"{(row['ms'] - rows[0]['ms']) / 1000:6.1f} s {row['lag']:8} {bar}".rstrip())


def main() -> None:
    """Run the example."""
    spark = small_session("lag plot")
    monitor = QueryMonitor()
    spark.streams.addListener(monitor)
    with tempfile.TemporaryDirectory() as folder, QuorumService.start(spark, data_dir=f"{folder}/quorum") as quorum:
        servers = quorum.bootstrap_servers
        options: KraftReadOptions = {
            "kraft.bootstrap.servers": servers,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": 500,
        }
        write_rows(spark, servers)
        changes = spark.readStream.format("kraft").options(**options).load()
        query = (
            changes.writeStream.format("noop")
            .queryName("reader")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .start()
        )
        query.processAllAvailable()
        for _ in range(WRITES):
            write_rows(spark, servers)
        query.processAllAvailable()
        query.stop()
        # Spark calls a listener a moment after a micro-batch has ended.
        monitor.wait_until_terminated(query)

        print("time and lag of the query reader, in offsets:")
        plot_lag(monitor.dataframe(spark).where("query_name = 'reader'"))
    spark.stop()


if __name__ == "__main__":
    main()
