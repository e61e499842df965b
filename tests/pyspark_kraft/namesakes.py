"""An application beside modules that have the names of this project's packages; says what it has written and read.

python namesakes.py, copied into the folder of these modules
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from kraft_spark import QuorumService


def main() -> None:
    """Run it."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with QuorumService.start(spark, voters=1, data_dir="quorum") as quorum:
        servers = {"kraft.bootstrap.servers": quorum.bootstrap_servers}
        rows = spark.createDataFrame([("a",), ("b",)], "value string")
        rows.write.format("kraft").options(**servers).mode("append").save()
        changes = spark.readStream.format("kraft").options(**servers, startingOffsets="earliest").load()
        copied = changes.select("value").writeStream.format("kraft").options(**servers, checkpointLocation="checkpoint")
        copied.trigger(availableNow=True).start().awaitTermination()
        read = spark.read.format("kraft").options(**servers).load().selectExpr("cast(value as string)")
        print(*(value for (value,) in read.collect()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
