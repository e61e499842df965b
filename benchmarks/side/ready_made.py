"""The upper limit of a backfill: a Python data source that makes the rows in the task, as Arrow, without fetching."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from benchmarks.side.rows import ROWS_A_BATCH, rows_of_a_batch

_TASKS = 2
_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("epoch", pa.int32()),
    ]
)


class ReadyMade(DataSource):
    """Rows with the columns of the kraft source, made in the task itself. Option `rows`: how many."""

    @classmethod
    def name(cls) -> str:
        return "ready_made"

    def schema(self) -> str:
        return "key binary, value binary, offset bigint, timestamp timestamp, epoch int"

    def reader(self, schema: StructType) -> DataSourceReader:
        del schema
        return _ReadyMadeReader(int(self.options["rows"]))


class _ReadyMadeReader(DataSourceReader):
    def __init__(self, rows: int) -> None:
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(self._rows // _TASKS) for _ in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        rows = int(partition.value)
        keys_and_values = rows_of_a_batch()
        timestamps = pa.array([1_700_000_000_000_000] * ROWS_A_BATCH, pa.timestamp("us", tz="UTC"))
        epochs = pa.array([1] * ROWS_A_BATCH, pa.int32())
        for start in range(0, rows, ROWS_A_BATCH):
            offsets = pa.array(np.arange(start, start + ROWS_A_BATCH))
            made = pa.RecordBatch.from_arrays([*keys_and_values, offsets, timestamps, epochs], schema=_SCHEMA)
            yield made.slice(0, rows - start)
