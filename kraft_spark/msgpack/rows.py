"""Converts one value of msgpack after the other to values of a Spark type.

The conversion is built once for a column as a tree of functions, one for each node of the type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from kraft_spark.msgpack.simple_values import Convert, converter, expect


class RowConverter:
    """Converts values to those from which Arrow makes a column.

    Args:
        data_type: can be unpacked.
        is_partial: a field of a struct that does not fit is null, and the other fields are kept.

    Fields:
        is_malformed: whether a field of the last value is null because it does not fit.
    """

    def __init__(self, data_type: DataType, *, is_partial: bool = False) -> None:
        self._is_partial = is_partial
        self.is_malformed = False
        self._convert = self._nullable(data_type, is_nullable=True)

    def convert(self, value: Any) -> Any:
        """Return the converted value.

        Raises:
            TypeError: it has another type.
            ValueError: it does not fit.
        """
        self.is_malformed = False
        return self._convert(value)

    def _nullable(self, data_type: DataType, *, is_nullable: bool) -> Convert:
        convert = self._present(data_type)

        def convert_any(value: Any) -> Any:
            if value is not None:
                return convert(value)
            if not is_nullable:
                raise ValueError("found no value, expected one that is not null")
            return None

        return convert_any

    def _present(self, data_type: DataType) -> Convert:
        match data_type:
            case StructType():
                return self._struct(data_type)
            case MapType():
                return self._map(data_type)
            case ArrayType():
                element = self._nullable(data_type.elementType, is_nullable=data_type.containsNull)
                expected = data_type.simpleString()
                return lambda value: _elements(expect(value, tuple, expected), element)
            case _:
                return converter(data_type)

    def _struct(self, data_type: StructType) -> Convert:
        fields = [(field.name, self._nullable(field.dataType, is_nullable=field.nullable)) for field in data_type]
        expected = data_type.simpleString()

        def convert(value: Any) -> tuple[Any, ...]:
            entries = expect(value, dict, expected)
            row = []
            for name, convert_field in fields:
                try:
                    row.append(convert_field(entries.get(name)))
                except (ValueError, TypeError) as error:
                    if not self._is_partial:
                        raise ValueError(f"{name}: {error}") from error
                    self.is_malformed = True
                    row.append(None)
            return tuple(row)

        return convert

    def _map(self, data_type: MapType) -> Convert:
        key = self._nullable(data_type.keyType, is_nullable=False)
        item = self._nullable(data_type.valueType, is_nullable=data_type.valueContainsNull)
        is_paired = not has_simple_keys(data_type)
        expected = data_type.simpleString()

        def convert(value: Any) -> list[tuple[Any, Any]]:
            entries = _pairs(value, expected) if is_paired else expect(value, dict, expected).items()
            # Keys can become equal here, such as timestamps within one microsecond; the last one is kept.
            converted = {}
            for at, (k, v) in enumerate(entries):
                try:
                    pair = key(k), item(v)
                except (ValueError, TypeError) as error:
                    raise ValueError(f"entry {at}: {error}") from error
                converted[_hashable(pair[0])] = pair
            return list(converted.values())

        return convert


def has_simple_keys(data_type: MapType) -> bool:
    """Return whether the keys of a map are simple values in msgpack; otherwise it is an array of pairs."""
    key = data_type.keyType
    return not (isinstance(key, StructType | ArrayType) or key.typeName() == "interval")


def _elements(values: tuple[Any, ...], element: Convert) -> list[Any]:
    converted = []
    try:
        for value in values:
            converted.append(element(value))  # its length is the position in the message
    except (ValueError, TypeError) as error:
        raise ValueError(f"element {len(converted)}: {error}") from error
    return converted


def _pairs(value: Any, expected: str) -> Iterable[tuple[Any, Any]]:
    pairs: tuple[Any, ...] = expect(value, tuple, expected)
    for at, pair in enumerate(pairs):
        if type(pair) is not tuple or len(pair) != 2:  # a key and a value
            raise ValueError(f"entry {at} is no array of a key and a value, expected {expected}")
    return pairs


def _hashable(key: Any) -> Any:
    """Return a key with tuples in place of lists; a struct is a tuple already, with lists in it."""
    return tuple(_hashable(part) for part in key) if isinstance(key, list | tuple) else key
