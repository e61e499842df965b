"""A client of Spark Connect that has pyspark only; it prints what it has seen as one line of JSON.

python -S connect_client.py URL SERVERS FOLDER CHECKOUT

FOLDER gets the checkpoint of a query. CHECKOUT has the packages of this project, which are imported last.
"""

from __future__ import annotations

import importlib.util
import json
import sys

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

LARGE_ROWS = 12_000
_PADDING = "x" * 1000


def main() -> None:
    """Run it."""
    url, servers, folder, checkout = sys.argv[1:]
    spark = SparkSession.builder.remote(url).getOrCreate()
    options = {"kraft.bootstrap.servers": servers}
    seen: dict[str, object] = {"has_connector": importlib.util.find_spec("kraft_spark") is not None}

    def read() -> list[str]:
        rows = spark.read.format("kraft").options(**options).load()
        return [row.value for row in rows.selectExpr("substring(cast(value as string), 1, 8) value").collect()]

    small = spark.createDataFrame([("one",), ("two",)], "value string")
    small.write.format("kraft").options(**options).mode("append").save()
    seen["small"] = read()
    large = spark.range(LARGE_ROWS, numPartitions=3).selectExpr(f"concat('large', id, '{_PADDING}') value")
    large.write.format("kraft").options(**options).mode("append").save()
    seen["rows"] = len(read())

    stream = spark.readStream.format("kraft").options(**options).option("startingOffsets", "earliest").load()
    query = (
        stream.filter("cast(value as string) in ('one', 'two')")
        .selectExpr("concat('2nd ', cast(value as string)) value")
        .writeStream.format("kraft")
        .options(**options)
        .option("checkpointLocation", folder)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seen["copied"] = read()[-2:]
    progress = query.lastProgress
    seen["input"] = None if progress is None else progress.numInputRows

    try:
        spark.read.format("kraft").options(**options).option("startingOffset", "earliest").load().collect()
    except PySparkException as error:
        seen["refused"] = str(error).splitlines()
    try:
        null_key = "array(struct(cast(null as string) key, cast('h' as binary) value)) headers"
        rows = spark.range(1).selectExpr("'x' value", null_key)
        rows.write.format("kraft").options(**options).mode("append").save()
    except PySparkException as error:
        seen["failed"] = str(error).splitlines()

    sys.path.append(checkout)
    from kraft_spark import QuorumService

    try:
        QuorumService.start(spark, data_dir=folder)
    except Exception as error:
        seen["quorum"] = str(error)
    print(json.dumps(seen))
    spark.stop()


if __name__ == "__main__":
    main()
