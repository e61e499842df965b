"""An application whose workers run the first Python on the PATH, because its session is created before kraft_spark
is imported; prints the warnings of its quorum.

python -m tests.kraft_spark.warned_application FOLDER

Two lines for each warning, where and what; then the error condition of the first use of `kraft`.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from pyspark.sql import SparkSession


def main() -> None:
    """Run it."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    from kraft_spark import QuorumService

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quorum = QuorumService.start(spark, voters=1, data_dir=Path(sys.argv[1], "quorum"))
    for warning in caught:
        print(f"{warning.filename}:{warning.lineno}", warning.message, sep="\n", flush=True)
    with quorum:
        try:
            spark.read.format("kraft").option("kraft.bootstrap.servers", quorum.bootstrap_servers).load()
        except Exception as error:
            print(*(word for word in str(error).split() if word.startswith("[")), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
