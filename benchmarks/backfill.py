"""A backfill through Spark, beside the same rows made in place: what the log, the wire and the decoding cost.

python -m benchmarks.backfill [--quick]

Both sides are Python data sources that yield Arrow record batches of the same schema, read into Spark's `noop` sink by
two tasks. The ceiling makes one record batch once and yields it again and again; the backfill fetches, checks and
decodes what a quorum holds. The runs alternate; the figure is the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from benchmarks.results import Figures, record
from datasource.columns import encode_batch, read_schema
from datasource.options import ReadOptions
from datasource.schema import read_columns
from examples.session import small_session
from raft.client import Client
from raft.local import LocalQuorum

VALUE_BYTES = 100
ROWS_A_BATCH = 9_000
TASKS = 2


class ReadyMade(DataSource):
    """The ceiling: rows like those of the log, made in the task itself."""

    @classmethod
    def name(cls) -> str:
        return "ready_made"

    def schema(self) -> StructType:
        return read_columns(ReadOptions.of({"kraft.bootstrap.servers": "localhost:1"}))

    def reader(self, schema: StructType) -> DataSourceReader:
        del schema
        return _ReadyMadeReader(int(self.options["rows"]))


class _ReadyMadeReader(DataSourceReader):
    def __init__(self, rows: int) -> None:
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(self._rows // TASKS) for _ in range(TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        left = int(partition.value)
        made = pa.RecordBatch.from_pydict(
            {
                "key": [b"key-%06d" % at for at in range(ROWS_A_BATCH)],
                "value": [b"x" * VALUE_BYTES] * ROWS_A_BATCH,
                "offset": list(range(ROWS_A_BATCH)),
                "timestamp": pa.array([1_700_000_000_000_000] * ROWS_A_BATCH, pa.timestamp("us", tz="UTC")),
                "epoch": [1] * ROWS_A_BATCH,
            },
            schema=read_schema(),
        )
        while left > 0:
            yield made.slice(0, min(left, ROWS_A_BATCH))
            left -= ROWS_A_BATCH


def fill(client: Client, rows: int) -> None:
    """Append so many rows, in batches of about 1 MB, as bulk writes do."""
    producer_id = client.new_producer_id()
    table = pa.table(
        {
            "key": [b"key-%06d" % at for at in range(ROWS_A_BATCH)],
            "value": [b"x" * VALUE_BYTES] * ROWS_A_BATCH,
        }
    )
    for at in range(0, rows, ROWS_A_BATCH):
        part = table.slice(0, min(ROWS_A_BATCH, rows - at))
        batch = encode_batch(
            part,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=at,
            timestamp_ms=int(time.time() * 1000),
            max_bytes=8 << 20,
        )
        client.append(batch)


def seconds(frame: DataFrame) -> float:
    """How long it takes to read a frame into nothing."""
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def measure(rows: int, rounds: int) -> Figures:
    """Run it all."""
    spark = small_session("backfill benchmark")
    spark.dataSource.register(ReadyMade)
    with (
        tempfile.TemporaryDirectory() as name,
        LocalQuorum.start(Path(name, "quorum")) as quorum,
        quorum.client(api_timeout_ms=60_000) as client,
    ):
        fill(client, rows)

        def backfill(**options: Any) -> DataFrame:
            reader = spark.read.format("kraft").option("kraft.bootstrap.servers", quorum.bootstrap_servers)
            return reader.option("minPartitions", TASKS).options(**options).load()

        def ceiling() -> DataFrame:
            return spark.read.format("ready_made").option("rows", rows).load()

        read_rows = backfill().count()
        assert read_rows == rows, f"{read_rows} rows of {rows}"
        seconds(ceiling())
        backfills, ceilings = [], []
        for _ in range(rounds):
            backfills.append(seconds(backfill()))
            ceilings.append(seconds(ceiling()))
    spark.stop()
    backfill_s, ceiling_s = statistics.median(backfills), statistics.median(ceilings)
    return {
        "rows": rows,
        "backfill rows/s": rows / backfill_s,
        "ready-made Arrow rows/s": rows / ceiling_s,
        "backfill / ready-made Arrow": ceiling_s / backfill_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    figures = measure(200_000, 1) if arguments.quick else measure(3_000_000, 5)
    record("backfill", "python -m benchmarks.backfill", figures, keep=not arguments.quick)


if __name__ == "__main__":
    main()
