"""A stream that reads for as long as its standard input is open.

python -m tests.spark.outage_application SERVERS CHECKPOINT

It prints "reads" after the first micro-batch; then, when standard input is closed, whether the query is active.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.frames import Frames
from tests.spark.streams import Delivered, wait_until


def main() -> None:
    """Run it."""
    servers, checkpoint = sys.argv[1:]
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    delivered = Delivered(Frames(spark, servers).stream(startingOffsets="earliest"), Path(checkpoint))
    query = delivered.start()
    wait_until(lambda: bool(query.recentProgress), "a micro-batch is done", query)
    print("reads", flush=True)
    sys.stdin.read()
    print("active" if query.isActive else query.exception(), flush=True)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
