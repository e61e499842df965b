"""Columns to and from msgpack, used as Spark's `to_avro` and `from_avro` are.

Spark                     msgpack
struct, map               map; a struct's field names are the keys, a map's keys are of a simple type
array                     array
string, binary            str, bin
byte, short, int, long    integer
float, double             float 64
boolean, null             boolean, nil
timestamp                 timestamp extension (type -1), nanoseconds kept as far as Spark has them: microseconds
date                      str: 2026-11-21, in the years 1 to 9999
decimal                   str: 12.50

Other types are refused by name. Numbers of other writers are taken where the schema's type holds them: integers as
double, float or decimal; a double as a float, rounded.
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
    """Pack a column, row by row; null stays null.

    A column of a type that is not in the module's table fails the query, and so does a date after the year 9999.

    Args:
        data: a column of any type in the module's table; most often a struct.

    Returns:
        A binary column.
    """

    def convert(column: pa.Array) -> pa.Array:
        return pack(column)

    # The result is called to_msgpack(data), as that of `to_avro` is.
    convert.__name__ = "to_msgpack"
    packed: Column = arrow_udf(convert, returnType=BinaryType())(_column(data))  # type: ignore[call-overload]  # stubs lack pa
    return packed


def from_msgpack(data: Column | str, schema: DataType | str, mode: Mode = "FAILFAST") -> Column:
    """Unpack a binary column.

    Fields that the schema does not have are dropped; those that the bytes do not have are null.

    Args:
        data: a binary column; null stays null.
        schema: the type of the result, as a type or as DDL ("name string, size bigint").
        mode: what bytes do that are no msgpack, or do not fit the schema (another type, a number out of its range, no
            value for a field that is `not null`): FAILFAST ends the query, PERMISSIVE gives null for the whole row.

    Raises:
        ValueError: the mode is none of the two, or a type in the schema has no form in msgpack.
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
