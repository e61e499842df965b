"""Another application than that of a quorum: it has the defaults of options that it was given.

python -m tests.kraft_spark.second_application URL...

It prints lines of JSON: the values in the log; and for each file that it asks the driver of the other application for,
"fetched", or why not.
"""

from __future__ import annotations

import json
import re
import sys

from pyspark.sql import SparkSession


def main() -> None:
    """Run it."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.read.format("kraft").load().selectExpr("cast(value as string)").collect()
    print(json.dumps([row.value for row in rows]), flush=True)
    for url in sys.argv[1:]:
        print(json.dumps(_fetched(spark, url)), flush=True)
    spark.stop()


def _fetched(spark: SparkSession, url: str) -> str:
    try:
        spark.sparkContext.addFile(url)
    except Exception as error:
        found = re.search(r"Stream .* was not found\.", str(error))
        return found[0] if found else str(error)
    return "fetched"


if __name__ == "__main__":
    main()
