"""Converts columns to msgpack and back, like Spark's `to_avro` and `from_avro`.

Spark                     msgpack
struct, map               map; the keys are the field names of a struct; the keys of a map have a simple type
array                     array
string, binary            str, bin
byte, short, int, long    integer
float, double             float 64
boolean, null             boolean, nil
timestamp                 timestamp extension (type -1), with microseconds, the precision of Spark
date                      str: 2026-11-21, in the years 1 to 9999
decimal                   str: 12.50

Other types are refused. Numbers of other writers are accepted if they fit the type in the schema: integers as double,
float or decimal; a double as a float, rounded.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, DataType

from kraft_spark.msgpack_types import check_type
from kraft_spark.packing import pack
from kraft_spark.unpacking import unpack

Mode = Literal["FAILFAST", "PERMISSIVE"]


def to_msgpack(data: Column | str) -> Column:
    """Pack each row of a column; null stays null.

    A type that is not in the module's table ends the query with an error, and so does a date after the year 9999.

    Args:
        data: a column of a type in the module's table; most often a struct.

    Returns:
        A binary column.
    """

    def convert(column: pa.Array) -> pa.Array:
        return pack(column)

    # The name of the result is to_msgpack(data), like that of `to_avro`.
    convert.__name__ = "to_msgpack"
    packed: Column = arrow_udf(convert, returnType=BinaryType())(_column(data))  # type: ignore[call-overload]  # stubs lack pa
    return packed


def from_msgpack(data: Column | str, schema: DataType | str, mode: Mode = "FAILFAST") -> Column:
    """Unpack each row of a binary column; null stays null.

    Fields that the schema does not have are dropped; fields that the bytes do not have are null.

    Args:
        data: a binary column.
        schema: the type of the result, as a type or as DDL ("name string, size bigint").
        mode: what happens if the bytes are not msgpack or do not fit the schema (another type, a number out of range,
            no value for a field that is `not null`): FAILFAST ends the query, PERMISSIVE returns null for the row.

    Raises:
        ValueError: the mode is unknown, or a type in the schema has no form in msgpack.
    """
    if mode not in ("FAILFAST", "PERMISSIVE"):
        raise ValueError(f"mode {mode}: expected FAILFAST or PERMISSIVE")
    data_type = DataType.fromDDL(schema) if isinstance(schema, str) else schema
    check_type(data_type)

    def convert(column: pa.Array) -> pa.Array:
        return unpack(column, data_type, is_permissive=mode == "PERMISSIVE")

    convert.__name__ = "from_msgpack"
    unpacked: Column = arrow_udf(convert, returnType=data_type)(_column(data))  # type: ignore[call-overload]  # stubs lack it
    return unpacked


def _column(data: Column | str) -> Column:
    return col(data) if isinstance(data, str) else data
