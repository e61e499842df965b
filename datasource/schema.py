"""The columns of reads and writes.

read    key binary, value binary, offset bigint, timestamp timestamp, epoch int
[headers array<struct<key:string,value:binary>>]    with includeHeaders
[control string]                                    with includeControlRecords
write   value binary or string; optional: key binary or string, headers as above
[offset, timestamp, epoch]                          as readColumns says
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from datasource.option_values import ReadColumns
from datasource.options import ReadOptions

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_BYTES = ("binary", "string")
_OF_READS = ("offset", "timestamp", "epoch")


def read_columns(options: ReadOptions) -> StructType:
    """Return the columns of a read with these options; all of them are nullable."""
    columns = (
        StructType()
        .add("key", BinaryType())
        .add("value", BinaryType())
        .add("offset", LongType())
        .add("timestamp", TimestampType())
        .add("epoch", IntegerType())
    )
    if options.include_headers:
        columns.add("headers", _HEADERS)
    if options.include_control_records:
        columns.add("control", StringType())
    return columns


def check_written_columns(schema: StructType, fate: ReadColumns = ReadColumns.REFUSE) -> None:
    """Check the columns of a write.

    Args:
        schema: of the write.
        fate: what becomes of the columns that only a read has.

    Raises:
        ValueError: a column is unknown, given twice, missing, or has a wrong type; says what is expected.
    """
    repeated = [name for name in dict.fromkeys(schema.names) if schema.names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"column {repeated[0]} is given {schema.names.count(repeated[0])} times, expected value, key and headers "
            "once each: select each column once"
        )
    for field in schema:
        if field.name in ("key", "value"):
            if field.dataType.simpleString() not in _BYTES:
                raise ValueError(
                    f"column {field.name} has type {field.dataType.simpleString()}; expected {' or '.join(_BYTES)}"
                )
        elif field.name == "headers":
            if not _is_headers(field.dataType):
                raise ValueError(
                    f"column headers has type {field.dataType.simpleString()}; expected {_HEADERS.simpleString()}"
                )
        else:
            _check_other_column(field, fate)
    if "value" not in schema.names:
        raise ValueError(f"column value is missing; columns are {', '.join(schema.names) or 'none'}")
    if fate is ReadColumns.KEEP_TIMESTAMPS and "timestamp" not in schema.names:
        raise ValueError(f"column timestamp is missing, whose times readColumns={fate.value} keeps")


def _check_other_column(field: StructField, fate: ReadColumns) -> None:
    """Check a column that is no part of a record."""
    if field.name == "control":
        raise ValueError(
            "column control marks the protocol's own records, which are not copied: select the rows where it is null, "
            "and drop it"
        )
    if field.name not in _OF_READS:
        raise ValueError(f"column {field.name} has no place in a record; expected value, key or headers")
    if fate is ReadColumns.REFUSE:
        raise ValueError(
            f"column {field.name} is of a read, and the log gives each record its own; expected value, key or headers: "
            "drop the column, or set the option readColumns to drop or keepTimestamps"
        )
    if fate is ReadColumns.KEEP_TIMESTAMPS and field.name == "timestamp" and field.dataType != TimestampType():
        raise ValueError(f"column timestamp has type {field.dataType.simpleString()}; expected timestamp")


def _is_headers(found: DataType) -> bool:
    return found.simpleString() == _HEADERS.simpleString()
