"""A Spark application that uses Kafka's connector with TLS and SASL. It prints what it reads, as
`tests.java.spark_application` does.

    python -m tests.secured.spark_application JARS FOLDER PLAN

PLAN is a JSON file: the topic, the offsets between which it reads, and for each way to connect the options of Kafka's
clients, by the name of the way. It reads a batch and a stream in each way, and copies the batch and the stream: the
values of the copies begin with the name of the way and with "batch" or "stream".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from tests.java.spark_application import copy, make_session, run, tell


def main() -> None:
    """Run the application."""
    jars, folder, plan_file = sys.argv[1:]
    plan = json.loads(Path(plan_file).read_text())
    topic = plan["topic"]
    spark = make_session(jars, Path(folder))

    def at(offset: int) -> str:
        return json.dumps({topic: {"0": offset}})

    for number, (way, options) in enumerate(plan["ways"].items()):
        kafka = {f"kafka.{key}": value for key, value in options.items()}
        source = {**kafka, "subscribe": topic, "startingOffsets": at(plan["start"]), "includeHeaders": "true"}
        batch = spark.read.format("kafka").options(**source, endingOffsets=at(plan["end"])).load()
        tell(f"{way} batch", batch)
        streamed = spark.readStream.format("kafka").options(**source).load().where(f"offset < {plan['end']}")
        run(streamed.writeStream.format("memory").queryName(f"streamed{number}"))
        tell(f"{way} stream", spark.table(f"streamed{number}"))

        sink = {**kafka, "topic": topic}
        copying = copy(f"{way} stream", streamed).writeStream.format("kafka").options(**sink)
        run(copying.option("checkpointLocation", f"{folder}/copying{number}"))
        save(copy(f"{way} batch", batch), sink)
    spark.stop()


def save(rows: DataFrame, sink: dict[str, str]) -> None:
    """Write rows as a batch."""
    rows.write.format("kafka").options(**sink).save()


if __name__ == "__main__":
    main()
