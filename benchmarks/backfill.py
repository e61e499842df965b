"""A backfill through Spark, beside the same rows made in place: what the log, the wire and the decoding cost.

python -m benchmarks.backfill [--quick]

Both sides are Python data sources that yield Arrow record batches of the same schema, read into Spark's `noop` sink by
two tasks. The ceiling makes the rows in place, from keys and values that it has; the backfill fetches, checks and
decodes what a quorum holds. The runs alternate, and each ratio is that of neighbours, since a shared machine's speed
drifts; the figure is the median of the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
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
        rows = int(partition.value)
        keys_and_values = rows_of_a_batch()
        timestamps = pa.array([1_700_000_000_000_000] * ROWS_A_BATCH, pa.timestamp("us", tz="UTC"))
        epochs = pa.array([1] * ROWS_A_BATCH, pa.int32())
        for start in range(0, rows, ROWS_A_BATCH):
            offsets = pa.array(np.arange(start, start + ROWS_A_BATCH))
            made = pa.RecordBatch.from_arrays([*keys_and_values, offsets, timestamps, epochs], schema=read_schema())
            yield made.slice(0, rows - start)


def rows_of_a_batch() -> list[pa.Array]:
    """The keys and values of every batch."""
    keys = [b"key-%06d" % at for at in range(ROWS_A_BATCH)]
    return [pa.array(keys, pa.binary()), pa.array([b"x" * VALUE_BYTES] * ROWS_A_BATCH, pa.binary())]


def fill(client: Client, rows: int) -> None:
    """Append so many rows, in batches of about 1 MB, as bulk writes do."""
    producer_id = client.new_producer_id()
    table = pa.table(rows_of_a_batch(), names=["key", "value"])
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
    ratios = [ceiling_s / backfill_s for backfill_s, ceiling_s in zip(backfills, ceilings, strict=True)]
    return {
        "rows": rows,
        "backfill rows/s": rows / statistics.median(backfills),
        "ready-made Arrow rows/s": rows / statistics.median(ceilings),
        "backfill / ready-made Arrow": statistics.median(ratios),
        "lowest of the ratios": min(ratios),
        "highest of the ratios": max(ratios),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    figures = measure(200_000, 1) if arguments.quick else measure(3_000_000, 15)
    record("backfill", "python -m benchmarks.backfill", figures, keep=not arguments.quick)


if __name__ == "__main__":
    main()
