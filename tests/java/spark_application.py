"""A Spark application that uses Kafka's connector only. It prints what it reads, one JSON object on each line.

    python -m tests.java.spark_application JARS FOLDER SERVERS TOPIC START MIDDLE END MIDDLE_MS

It reads the records of the topic from offset START to END in every way, and copies them in two ways: the values of the
copies begin with the name of the way. MIDDLE is an offset between START and END, and MIDDLE_MS its timestamp.

Fields of an object:
    name: the name of the way.
    rows: what was read, each with key and value in hexadecimal digits, offset, timestamp and headers.
    batches: how many micro-batches it took.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

MOST_OFFSETS_A_BATCH = 40

ROW = """to_json(named_struct(
    'key', hex(key), 'value', hex(value), 'offset', offset, 'timestamp', unix_millis(timestamp),
    'headers', transform(headers, header -> array(header.key, hex(header.value)))
), map('ignoreNullFields', 'false')) AS row"""


def main() -> None:
    """Run the application."""
    jars, folder, servers, topic, *numbers = sys.argv[1:]
    start_offset, middle_offset, end_offset, middle_ms = map(int, numbers)
    spark = make_session(jars, Path(folder))

    def at(value: int) -> str:
        return json.dumps({topic: {"0": value}})

    kafka = {"kafka.bootstrap.servers": servers}
    source = {**kafka, "subscribe": topic, "startingOffsets": at(start_offset), "includeHeaders": "true"}

    def read(**options: str) -> DataFrame:
        return spark.read.format("kafka").options(**source | options).load()

    def stream() -> DataFrame:
        limits = {"maxOffsetsPerTrigger": str(MOST_OFFSETS_A_BATCH)}
        return spark.readStream.format("kafka").options(**source | limits).load()

    tell("batch", read())
    tell("batch to the middle", read(endingOffsets=at(middle_offset)))
    tell("batch by time", read(startingOffsetsByTimestamp=at(middle_ms)))
    tell("batch committed", read(**{"kafka.isolation.level": "read_committed"}))
    batches = run(stream().writeStream.format("memory").queryName("streamed"))
    tell("stream", spark.table("streamed"), batches)

    to_kafka = {**kafka, "topic": topic}
    copying = copy("stream", stream()).writeStream.format("kafka").options(**to_kafka)
    run(copying.option("checkpointLocation", f"{folder}/copying"))
    copy("batch", read(endingOffsets=at(end_offset))).write.format("kafka").options(**to_kafka).save()
    spark.stop()


def make_session(jars: str, folder: Path) -> SparkSession:
    """Start Spark with the jars of its Kafka connector."""
    spark: SparkSession = (
        SparkSession.builder.appName("kafka")
        .master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def run(writer: DataStreamWriter) -> int:
    """Run a stream up to the present end of the topic; return the number of micro-batches."""
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(progress["numInputRows"] > 0 for progress in query.recentProgress)


def copy(name: str, rows: DataFrame) -> DataFrame:
    """Return the records to write; a null value stays null."""
    return rows.selectExpr("key", f"concat(cast('{name} ' AS binary), value) AS value", "headers")


def tell(name: str, rows: DataFrame, batches: int = 0) -> None:
    """Print what was read."""
    read = [json.loads(row.row) for row in rows.selectExpr(ROW).collect()]
    print(json.dumps({"name": name, "rows": read, "batches": batches}), flush=True)


if __name__ == "__main__":
    main()
