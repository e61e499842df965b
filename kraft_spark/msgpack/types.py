"""Checks whether a Spark type can be unpacked, and converts it to the types in which its values reach Spark.

A few types have no form in the results of Spark's Arrow functions. Their values are returned as a simpler type, the
carrier, which Spark then casts.

    type                            carrier
    interval year to month          int: months; years if the type has years only
    interval                        string: 1 months -2 days 3 microseconds
    time, unless of precision 6     string: 12:13:14.123
    char, varchar                   string, and no cast: Spark has no columns of these types in a query
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VarcharType,
    VariantType,
    YearMonthIntervalType,
)

from kraft_spark.msgpack.errors import SchemaError

_SIMPLE = frozenset(
    [
        BinaryType,
        BooleanType,
        ByteType,
        CalendarIntervalType,
        CharType,
        DateType,
        DayTimeIntervalType,
        DecimalType,
        DoubleType,
        FloatType,
        IntegerType,
        LongType,
        NullType,
        ShortType,
        StringType,
        TimestampNTZType,
        TimestampType,
        TimeType,
        VarcharType,
        VariantType,
        YearMonthIntervalType,
    ]
)
_DIRECT_PRECISION = 6


def check_type(data_type: DataType, path: str = "") -> None:
    """Check that values of a type, and of all types in it, can be unpacked.

    Args:
        data_type: of a column.
        path: names of the fields that lead to it, for the message.

    Raises:
        SchemaError: they cannot; names the type and its field.
    """
    match data_type:
        case StructType():
            for name in data_type.names:
                if data_type.names.count(name) > 1:
                    raise SchemaError(f"{path}two fields have the name {name}, expected different keys for a map")
            for field in data_type:
                check_type(field.dataType, f"{path}{field.name}: ")
        case ArrayType():
            check_type(data_type.elementType, path)
        case MapType():
            if _has(data_type.keyType, (MapType, VariantType)):
                raise SchemaError(f"{path}{data_type.keyType.simpleString()} cannot be the key of a map in Spark")
            check_type(data_type.keyType, path)
            check_type(data_type.valueType, path)
        case GeometryType() | GeographyType():
            name = data_type.typeName()
            raise SchemaError(
                f"{path}{data_type.simpleString()} cannot be unpacked; expected struct<srid:int,wkb:binary>, "
                f"from which st_{name[:4]}fromwkb(wkb) makes a {name}"
            )
        case _:
            # Subclasses are other types, which a user has defined.
            if type(data_type) not in _SIMPLE:
                raise SchemaError(
                    f"{path}{data_type.simpleString()} has no form in msgpack; docs/msgpack.md has the types"
                )


def carrier_of(data_type: DataType) -> DataType:
    """Return the type in which the values of a type are returned to Spark."""
    return _replaced(data_type, _carrier, all_nullable=False)


def cast_type(data_type: DataType) -> DataType:
    """Return the type of the column that the user gets: text of a limited length is a string.

    If Spark must cast the carrier, everything is nullable, because it refuses some casts to types that are not.
    """
    result = _replaced(data_type, _without_length, all_nullable=False)
    return result if result == carrier_of(data_type) else nullable(result)


def nullable(data_type: DataType) -> DataType:
    """Return a type in which every value may be null, except the keys of maps."""
    return _replaced(data_type, lambda leaf: leaf, all_nullable=True)


def sql_text(data_type: DataType) -> str:
    """Return a type in which everything is nullable as SQL."""
    match data_type:
        case StructType():
            fields = ", ".join(f"`{field.name.replace('`', '``')}`: {sql_text(field.dataType)}" for field in data_type)
            return f"struct<{fields}>"
        case ArrayType():
            return f"array<{sql_text(data_type.elementType)}>"
        case MapType():
            return f"map<{sql_text(data_type.keyType)}, {sql_text(data_type.valueType)}>"
        case _:
            return data_type.simpleString()


def _carrier(leaf: DataType) -> DataType:
    match leaf:
        case YearMonthIntervalType():
            return IntegerType()
        case CalendarIntervalType():
            return StringType()
        case TimeType():
            return leaf if leaf.precision == _DIRECT_PRECISION else StringType()
        case _:
            return _without_length(leaf)


def _without_length(leaf: DataType) -> DataType:
    return StringType() if isinstance(leaf, CharType | VarcharType) else leaf


def _replaced(data_type: DataType, replace: Callable[[DataType], DataType], *, all_nullable: bool) -> DataType:
    def inner(part: DataType) -> DataType:
        return _replaced(part, replace, all_nullable=all_nullable)

    match data_type:
        case StructType():
            return StructType(
                [
                    StructField(field.name, inner(field.dataType), all_nullable or field.nullable, field.metadata)
                    for field in data_type
                ]
            )
        case ArrayType():
            return ArrayType(inner(data_type.elementType), all_nullable or data_type.containsNull)
        case MapType():
            return MapType(
                inner(data_type.keyType), inner(data_type.valueType), all_nullable or data_type.valueContainsNull
            )
        case _:
            return replace(data_type)


def _has(data_type: DataType, kinds: tuple[type[DataType], ...]) -> bool:
    match data_type:
        case StructType():
            return any(_has(field.dataType, kinds) for field in data_type)
        case ArrayType():
            return _has(data_type.elementType, kinds)
        case _:
            return isinstance(data_type, kinds)
