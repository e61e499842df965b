"""Checks whether a Spark type has a form in msgpack; the table is in `kraft_spark.msgpack_columns`."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

_SIMPLE = frozenset(
    [
        BinaryType,
        BooleanType,
        ByteType,
        DateType,
        DecimalType,
        DoubleType,
        FloatType,
        IntegerType,
        LongType,
        NullType,
        ShortType,
        StringType,
        TimestampType,
    ]
)


def check_type(data_type: DataType, path: str = "") -> None:
    """Check that a type, and all types in it, have a form in msgpack.

    Args:
        data_type: of a column.
        path: names of the fields that lead to it, for the message.

    Raises:
        ValueError: a type has none; names the type and its field.
    """
    match data_type:
        case StructType():
            for name in data_type.names:
                if data_type.names.count(name) > 1:
                    raise ValueError(f"{path}two fields have the name {name}, expected different keys for a map")
            for field in data_type:
                check_type(field.dataType, f"{path}{field.name}: ")
        case ArrayType():
            check_type(data_type.elementType, path)
        case MapType():
            if type(data_type.keyType) not in _SIMPLE:
                # Some readers of msgpack, for example in Python, cannot represent maps with such keys.
                raise ValueError(f"{path}{data_type.keyType.simpleString()} has no form in msgpack as the key of a map")
            check_type(data_type.valueType, path)
        case _:
            # Subclasses are other types: text of a fixed length, or types that a user has defined.
            if type(data_type) not in _SIMPLE:
                raise ValueError(f"{path}{data_type.simpleString()} has no form in msgpack")
