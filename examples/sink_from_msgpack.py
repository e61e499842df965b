"""A sink of structured changes: pack a struct with msgpack, write it by a stream, read it and unpack it.

python -m examples.sink_from_msgpack
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql.functions import col, struct

from examples.session import small_session
from kraft_spark import QuorumService, from_msgpack, to_msgpack

CHANGE = "name string, partitions int, retention_ms bigint"


def main() -> None:
    """Run the example."""
    spark = small_session("sink from msgpack")
    with tempfile.TemporaryDirectory() as folder, QuorumService.start(spark, data_dir=Path(folder, "quorum")) as quorum:
        topics = Path(folder, "topics")
        changes = [("orders", 12, 604_800_000), ("clicks", 48, 3_600_000), ("audit", 3, None)]
        spark.createDataFrame(changes, CHANGE).write.json(str(topics))

        packed = (
            spark.readStream.schema(CHANGE)
            .json(str(topics))
            .select(col("name").alias("key"), to_msgpack(struct("name", "partitions", "retention_ms")).alias("value"))
        )
        query = (
            packed.writeStream.format("kraft")
            .option("kraft.bootstrap.servers", quorum.bootstrap_servers)
            .option("checkpointLocation", str(Path(folder, "checkpoint")))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

        log = spark.read.format("kraft").option("kraft.bootstrap.servers", quorum.bootstrap_servers).load()
        log.select("offset", from_msgpack("value", CHANGE).alias("change")).select("offset", "change.*").orderBy(
            "offset"
        ).show()
    spark.stop()


if __name__ == "__main__":
    main()
