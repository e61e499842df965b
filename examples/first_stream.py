"""A first stream: write two changes, and read them as a stream.

python -m examples.first_stream
"""

from __future__ import annotations

import tempfile

from examples.session import small_session
from kraft_spark import QuorumService


def main() -> None:
    """Run the example."""
    spark = small_session("first stream")
    with tempfile.TemporaryDirectory() as folder, QuorumService.start(spark, voters=3, data_dir=folder) as quorum:
        servers = quorum.bootstrap_servers

        rows = spark.createDataFrame([("topic-1", "created"), ("topic-2", "created")], "key string, value string")
        rows.write.format("kraft").option("kraft.bootstrap.servers", servers).mode("append").save()

        changes = (
            spark.readStream.format("kraft")
            .option("kraft.bootstrap.servers", servers)
            .option("startingOffsets", "earliest")
            .load()
            .selectExpr("offset", "cast(key as string) key", "cast(value as string) value", "epoch")
        )
        query = changes.writeStream.format("console").trigger(availableNow=True).start()
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
