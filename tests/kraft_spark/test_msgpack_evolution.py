"""Readers and writers with different schemas: what is added, dropped, reordered, renamed, widened or narrowed."""

from __future__ import annotations

import decimal
from typing import Any

import msgpack
import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StringType, StructType

from kraft_spark.msgpack.arrays import arrow_type_of
from kraft_spark.msgpack.errors import MalformedValueError
from kraft_spark.packer import pack
from kraft_spark.unpacker import unpack

WRITTEN = StructType().add("id", "integer").add("name", "string").add("at", StructType().add("x", "integer"))
ROW = {"id": 7, "name": "a", "at": {"x": 1}}


def written(row: dict[str, Any] | None = None, schema: DataType = WRITTEN) -> pa.Array:
    return pack(pa.array([row or ROW], arrow_type_of(schema)))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(StructType().add("name", "string"), {"name": "a"}, id="fewer fields"),
        pytest.param(StructType().add("at", StructType()), {"at": {}}, id="no field of a struct"),
        pytest.param(
            StructType().add("name", "string").add("id", "integer"), {"name": "a", "id": 7}, id="another order"
        ),
        pytest.param(
            StructType().add("id", "integer").add("new", ArrayType(LongType())),
            {"id": 7, "new": None},
            id="a new field",
        ),
        pytest.param(
            StructType().add("at", StructType().add("x", "integer").add("y", "date")),
            {"at": {"x": 1, "y": None}},
            id="a new field in a struct",
        ),
        pytest.param(StructType().add("ID", "integer"), {"ID": None}, id="a name in other letters"),
        pytest.param(
            StructType().add("id", "integer").add("Id", "integer"), {"id": 7, "Id": None}, id="names in both letters"
        ),
        pytest.param(StructType().add("id", "long"), {"id": 7}, id="int as long"),
        pytest.param(StructType().add("id", "byte"), {"id": 7}, id="int as byte, if it fits"),
        pytest.param(StructType().add("id", "double"), {"id": 7.0}, id="int as double"),
        pytest.param(
            StructType().add("id", "decimal(4,1)"), {"id": decimal.Decimal("7.0")}, id="int as decimal, if it fits"
        ),
        pytest.param(
            StructType().add("at", MapType(StringType(), LongType())), {"at": [("x", 1)]}, id="a struct as a map"
        ),
    ],
)
def test_row_is_read_to_another_schema(schema: StructType, expected: dict[str, Any]) -> None:
    assert unpack(written(), schema, is_permissive=False).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        pytest.param(StructType().add("new", "integer", False), "new: found no value", id="a new field is not null"),
        pytest.param(StructType().add("ID", "integer", False), "ID: found no value", id="a name in other letters"),
        pytest.param(StructType().add("name", "integer"), "name: found a str, expected int", id="string as int"),
        pytest.param(StructType().add("id", "string"), "id: found an integer, expected string", id="int as string"),
        pytest.param(StructType().add("id", "boolean"), "id: found an integer, expected boolean", id="int as boolean"),
        pytest.param(StructType().add("name", "binary"), "name: found a str, expected binary", id="string as binary"),
        pytest.param(
            StructType().add("at", ArrayType(LongType())), "at: found a map, expected array<bigint>", id="map as array"
        ),
        pytest.param(
            StructType().add("at", StructType().add("x", "timestamp")),
            "at: x: found an integer, expected timestamp",
            id="int as timestamp",
        ),
    ],
)
def test_row_of_another_type_is_malformed(schema: StructType, reason: str) -> None:
    with pytest.raises(MalformedValueError, match=rf"in msgpack: {reason}"):
        unpack(written(), schema, is_permissive=False)

    assert unpack(written(), schema, is_permissive=True).to_pylist() == [None]


def test_null_and_missing_fields_are_read_alike_and_written_as_nil() -> None:
    packed = [written({"id": None, "name": None, "at": None})[0].as_py(), msgpack.packb({})]

    column = unpack(pa.array(packed), WRITTEN, is_permissive=False)

    assert column.to_pylist() == [{"id": None, "name": None, "at": None}] * 2
    assert [msgpack.unpackb(row) for row in pack(column).to_pylist()] == [{"id": None, "name": None, "at": None}] * 2


@pytest.mark.parametrize(
    "row",
    [
        pytest.param([("id", 1), ("id", 2)], id="equal"),
        pytest.param([("id", "not even an int"), ("id", 2)], id="of another type"),
    ],
)
def test_last_one_of_equal_keys_counts(row: list[tuple[str, object]]) -> None:
    packed = b"\x82" + b"".join(msgpack.packb(part) for pair in row for part in pair)

    assert unpack(pa.array([packed]), StructType().add("id", "integer"), is_permissive=False).to_pylist() == [{"id": 2}]


@pytest.mark.parametrize("key", [1, b"id", None, 1.5, True, msgpack.Timestamp(1), (1, "id")], ids=repr)
def test_key_that_is_no_string_is_no_field(key: object) -> None:
    packed = msgpack.packb({key: 1, "id": 2})

    assert unpack(pa.array([packed]), StructType().add("id", "integer"), is_permissive=False).to_pylist() == [{"id": 2}]
