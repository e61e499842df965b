"""The columns of reads and writes.

read    key binary, value binary, offset bigint, timestamp timestamp, epoch int
[headers array<struct<key:string,value:binary>>]    with includeHeaders
[control string]                                    with includeControlRecords
write   value binary or string; optional: key binary or string, headers as above
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

from datasource.options import ReadOptions

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_BYTES = ("binary", "string")


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


def check_written_columns(schema: StructType) -> None:
    """Check the columns of a write.

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
            raise ValueError(f"column {field.name} has no place in a record; expected value, key or headers")
    if "value" not in schema.names:
        raise ValueError(f"column value is missing; columns are {', '.join(schema.names) or 'none'}")


def _is_headers(found: DataType) -> bool:
    return found.simpleString() == _HEADERS.simpleString()
