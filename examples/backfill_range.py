"""Backfill: read a range of offsets as a batch, split into several tasks.

python -m examples.backfill_range
"""

from __future__ import annotations

import tempfile

from examples.session import small_session
from kraft_spark import QuorumService


def main() -> None:
    """Run the example."""
    spark = small_session("backfill of a range")
    with tempfile.TemporaryDirectory() as folder, QuorumService.start(spark, data_dir=folder) as quorum:
        servers = quorum.bootstrap_servers

        numbers = spark.range(10_000).selectExpr("cast(id as string) key", "repeat('x', 100) value")
        numbers.write.format("kraft").option("kraft.bootstrap.servers", servers).mode("append").save()

        part = (
            spark.read.format("kraft")
            .option("kraft.bootstrap.servers", servers)
            .option("startingOffsets", "2000")
            .option("endingOffsets", "7000")
            .option("minPartitions", "4")
            .load()
        )
        print(f"{part.count()} rows in {part.rdd.getNumPartitions()} tasks")
        part.selectExpr("min(offset) first", "max(offset) last", "count(distinct key) keys").show()
    spark.stop()


if __name__ == "__main__":
    main()
