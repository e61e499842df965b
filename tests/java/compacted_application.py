"""A Spark application that reads a topic with Kafka's connector while records of it are compacted away.

    python -m tests.java.compacted_application JARS FOLDER SERVERS TOPIC

It prints the rows of a batch from earliest to latest as a JSON array on one line, and then those of each micro-batch of
a stream from earliest. After each of the first micro-batches it waits for a line on standard input. A line with an
offset is the last one that it waits for: it ends behind this offset.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from tests.java.spark_application import ROW, make_session

_OFFSETS_A_BATCH = "400"


class Printed:
    """Prints micro-batches, and waits after them."""

    def __init__(self) -> None:
        self.last_offset = -1
        self.end: int | None = None
        """The last offset to be read; None if it is not known yet."""

    def print(self, rows: DataFrame, batch_id: int) -> None:
        """Print the rows of a micro-batch."""
        read = in_order(rows)
        if not read:
            return
        self.last_offset = read[-1]["offset"]
        print(json.dumps(read), flush=True)
        if self.end is None:
            line = sys.stdin.readline().strip()
            self.end = int(line) if line.isdigit() else None


def in_order(rows: DataFrame) -> list[dict[str, Any]]:
    """Return rows as they are read."""
    return [json.loads(row.row) for row in rows.selectExpr(ROW).collect()]


def main() -> None:
    """Run the application."""
    jars, folder, servers, topic = sys.argv[1:]
    spark = make_session(jars, Path(folder))
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
    options["includeHeaders"] = "true"
    print(json.dumps(in_order(spark.read.format("kafka").options(**options).load())), flush=True)

    printed = Printed()
    stream = spark.readStream.format("kafka").options(**options, maxOffsetsPerTrigger=_OFFSETS_A_BATCH).load()
    query = stream.writeStream.foreachBatch(printed.print).trigger(processingTime="0 seconds").start()
    while printed.end is None or printed.last_offset < printed.end:
        if query.awaitTermination(timeout=1):
            return
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
