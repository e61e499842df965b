"""Bytes that are made to harm the reader: the memory and the time that they take are bounded."""

from __future__ import annotations

import tracemalloc

import msgpack
import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, DataType, IntegerType, MapType, StringType, StructType, VariantType

from kraft_spark.unpacker import unpack

_MEBIBYTE = 1 << 20

HOSTILE = {
    "nested arrays that announce as many elements as there are bytes": b"\xdd\x00\x0f\xff\xff" * 1000
    + bytes(_MEBIBYTE),
    "nested arrays of 16 bits": b"\xdc\xff\xff" * 1000 + bytes(70_000),
    "an array of 2^32 - 1 elements": b"\xdd\xff\xff\xff\xff",
    "a map of 2^32 - 1 entries": b"\xdf\xff\xff\xff\xff",
    "a str of 2^32 - 1 bytes": b"\xdb\xff\xff\xff\xff",
    "a bin of 2^32 - 1 bytes": b"\xc6\xff\xff\xff\xff",
    "an extension of 2^32 - 1 bytes": b"\xc9\xff\xff\xff\xff\x01",
    "a million levels of arrays": b"\x91" * _MEBIBYTE,
    "a million levels of maps": b"\x81\xa0" * (_MEBIBYTE // 2),
    "a timestamp of a wrong length": b"\xd4\xff\x00",
    "a timestamp with too many nanoseconds": b"\xd7\xff" + b"\xff" * 8,
    "text that is not UTF-8": b"\xa2\xc3\x28",
    "half of a surrogate": b"\xa3\xed\xa0\x80",
    "two values": b"\xc0\xc0",
    "nothing": b"",
}
TYPES: list[DataType] = [
    VariantType(),
    ArrayType(ArrayType(IntegerType())),
    MapType(StringType(), StringType()),
    StructType().add("x", "integer"),
]


@pytest.mark.parametrize("packed", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("data_type", TYPES, ids=lambda data_type: data_type.typeName())
def test_hostile_bytes_are_malformed_and_take_little_memory(packed: bytes, data_type: DataType) -> None:
    column = pa.array([packed], pa.binary())
    tracemalloc.start()
    try:
        unpacked = unpack(column, data_type, is_permissive=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert unpacked.null_count == 1
    assert peak < 16 * len(packed) + _MEBIBYTE


@pytest.mark.parametrize("data_type", TYPES, ids=lambda data_type: data_type.typeName())
def test_deep_key_is_read_or_malformed(data_type: DataType) -> None:
    packed = b"\x81" + b"\x91" * 1000 + b"\x01\x01"

    unpacked = unpack(pa.array([packed], pa.binary()), data_type, is_permissive=True)

    # A struct drops entries that the schema does not have.
    assert unpacked.null_count == (0 if isinstance(data_type, StructType) else 1)


def test_values_are_nested_up_to_the_documented_depth() -> None:
    def depth(levels: int, data_type: DataType) -> int:
        packed = b"\x91" * levels + b"\xc0"
        return int(unpack(pa.array([packed], pa.binary()), data_type, is_permissive=True).null_count)

    # A struct drops the entry, so that only the library's own limit counts.
    inside = b"\x81\xa1y" + b"\x91" * 1023 + b"\xc0"
    assert unpack(pa.array([inside]), TYPES[-1], is_permissive=True).null_count == 0
    assert unpack(pa.array([inside.replace(b"y", b"y\x91")]), TYPES[-1], is_permissive=True).null_count == 1
    assert [depth(levels, VariantType()) for levels in (500, 501)] == [0, 1]


def test_row_of_many_values_takes_memory_in_proportion() -> None:
    packed = msgpack.packb([[number] for number in range(200_000)])

    [values] = unpack(pa.array([packed]), ArrayType(ArrayType(IntegerType())), is_permissive=False).to_pylist()

    assert values[-1] == [199_999]


@pytest.mark.parametrize("packed", HOSTILE.values(), ids=HOSTILE)
def test_rows_beside_hostile_bytes_are_read(packed: bytes) -> None:
    good = msgpack.packb({"x": 1, "text": "a" * 1_000})
    column = pa.array([good, packed, None, good], pa.binary())

    assert unpack(column, TYPES[-1], is_permissive=True).to_pylist() == [{"x": 1}, None, None, {"x": 1}]
