"""A Spark application that packs and unpacks rows: by this project's functions, as JSON, and by msgpack alone.

msgpack alone is called for each row: by a Python function, which gets one row after the other, and by an Arrow
function, which gets batches of rows, as this project's functions do.

python -P -m benchmarks.side.values SPARK_FOLDER
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.functions import col, from_json, struct, to_json, udf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from benchmarks.side.calls import answer_calls
from benchmarks.side.spark_application import make_session
from kraft_spark import from_msgpack, to_msgpack

SCHEMA = "id bigint, name string, size double, active boolean, tags array<string>, position struct<x: int, y: int>"

_ROWS = (
    "id",
    "concat('name-', id) name",
    "id / 7 size",
    "id % 2 = 0 active",
    "array('tag', cast(id % 100 as string)) tags",
    "named_struct('x', cast(id % 1000 as int), 'y', cast(id % 77 as int)) position",
)
_PARTITIONS = 2


def _pack(row: Row) -> bytes:
    packed: bytes = msgpack.packb(row.asDict(recursive=True))
    return packed


def _unpack(packed: bytes) -> dict[str, Any]:
    values: dict[str, Any] = msgpack.unpackb(packed)
    return values


def _pack_by_arrow(row: Column) -> Column:
    def pack(rows: pa.Array) -> pa.Array:
        return pa.array([msgpack.packb(values) for values in rows.to_pylist()], pa.binary())

    packed: Column = arrow_udf(pack, "binary")(row)  # type: ignore[call-overload]  # stubs lack pa
    return packed


def _unpack_by_arrow(value: Column) -> Column:
    arrow_type = to_arrow_type(DataType.fromDDL(SCHEMA))

    def unpack(packed: pa.Array) -> pa.Array:
        return pa.array([msgpack.unpackb(values) for values in packed.to_pylist()], arrow_type)

    unpacked: Column = arrow_udf(unpack, SCHEMA)(value)  # type: ignore[call-overload]  # stubs lack pa
    return unpacked


def _pack_by_python(row: Column) -> Column:
    return udf(_pack, "binary")(row)


def _unpack_by_python(value: Column) -> Column:
    return udf(_unpack, SCHEMA)(value)


_PACKS: dict[str, Callable[[Column], Column]] = {
    "ours": to_msgpack,
    "json": to_json,
    "arrow": _pack_by_arrow,
    "python": _pack_by_python,
}
_UNPACKS: dict[str, Callable[[Column], Column]] = {
    "ours": lambda value: from_msgpack(value, SCHEMA),
    "json": lambda value: from_json(value, SCHEMA),
    "arrow": _unpack_by_arrow,
    "python": _unpack_by_python,
}


class Values:
    """Its functions. Rows are in Spark's memory before they are measured, and results are discarded."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._cached: dict[tuple[str, int], DataFrame] = {}

    def pack(self, way: str, rows: int) -> float:
        """Pack this number of rows; return the seconds."""
        return _discard(self._rows(rows).select(_PACKS[way](col("row"))))

    def unpack(self, way: str, rows: int) -> float:
        """Unpack this number of rows; return the seconds."""
        packing = to_json if way == "json" else to_msgpack
        packed = self._keep(packing.__name__, rows, lambda: self._rows(rows).select(packing(col("row")).alias("value")))
        return _discard(packed.select(_UNPACKS[way](col("value"))))

    def _rows(self, rows: int) -> DataFrame:
        def make() -> DataFrame:
            return self._spark.range(0, rows, 1, _PARTITIONS).selectExpr(*_ROWS).select(struct("*").alias("row"))

        return self._keep("rows", rows, make)

    def _keep(self, name: str, rows: int, make: Callable[[], DataFrame]) -> DataFrame:
        if (name, rows) not in self._cached:
            # With `cache`, Spark would take packed rows from there when they are to be packed again.
            self._cached[name, rows] = make().localCheckpoint()
        return self._cached[name, rows]


def _discard(rows: DataFrame) -> float:
    started = time.perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def main() -> None:
    """Respond to calls until standard input ends."""
    folder = Path(sys.argv[1])
    folder.mkdir()
    spark = make_session(folder, "")
    values = Values(spark)
    answer_calls({"pack": values.pack, "unpack": values.unpack})
    spark.stop()


if __name__ == "__main__":
    main()
