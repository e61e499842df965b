"""Arrow columns to msgpack, without Spark: nested columns, parts of columns, and the form of each type."""

from __future__ import annotations

import decimal
from typing import Any

import msgpack
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import VariantType

from kraft_spark.msgpack.errors import SchemaError, UnpackableValueError
from kraft_spark.packer import pack

MOMENT = pa.timestamp("us", tz="Asia/Tokyo")

NESTED = pa.struct(
    [
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("rows", pa.list_(pa.struct([("by_id", pa.map_(pa.int32(), pa.list_(pa.string())))]))),
        ("nothing", pa.null()),
    ]
)
NESTED_ROWS: list[dict[str, Any] | None] = [
    {"counts": {"a": 1, "b": None}, "rows": [{"by_id": {7: ["x", None], -7: None}}, None], "nothing": None},
    None,
    {"counts": {}, "rows": [], "nothing": None},
    {"counts": None, "rows": None, "nothing": None},
    {"counts": {"c": 3}, "rows": [{"by_id": None}, {"by_id": {1: []}}], "nothing": None},
]


def unpacked(packed: pa.Array) -> list[Any]:
    return [None if value is None else msgpack.unpackb(value, strict_map_key=False) for value in packed.to_pylist()]


def column_of(rows: list[dict[str, Any] | None]) -> pa.Array:
    """Rows as Arrow takes them: the items of a map are pairs."""

    def plain(value: Any, arrow_type: pa.DataType) -> Any:
        if value is None:
            return None
        if pa.types.is_struct(arrow_type):
            return {field.name: plain(value[field.name], field.type) for field in arrow_type}
        if pa.types.is_map(arrow_type):
            return [(key, plain(item, arrow_type.item_type)) for key, item in value.items()]
        if pa.types.is_list(arrow_type):
            return [plain(item, arrow_type.value_type) for item in value]
        return value

    return pa.array([plain(row, NESTED) for row in rows], NESTED)


@pytest.mark.parametrize("start", range(len(NESTED_ROWS)))
def test_every_row_is_packed_as_it_is_in_any_part_of_a_column(start: int) -> None:
    column = column_of(NESTED_ROWS)

    assert unpacked(pack(column.slice(start))) == NESTED_ROWS[start:]
    assert unpacked(pack(column.slice(0, start))) == NESTED_ROWS[:start]


def test_struct_without_fields_is_an_empty_map() -> None:
    assert unpacked(pack(pa.array([{}, None], pa.struct([])))) == [{}, None]


VARIANT = to_arrow_type(VariantType())


@pytest.mark.parametrize("arrow_type", [NESTED, VARIANT, pa.month_day_nano_interval(), pa.null(), pa.string()], ids=str)
def test_column_without_rows_is_packed_to_binary(arrow_type: pa.DataType) -> None:
    assert pack(pa.array([], arrow_type)).equals(pa.array([], pa.binary()))


@pytest.mark.parametrize(
    ("micros", "timestamp"),
    [
        pytest.param(1_000_001, msgpack.Timestamp(1, 1_000), id="after 1970"),
        pytest.param(-1, msgpack.Timestamp(-1, 999_999_000), id="before 1970"),
        pytest.param(2**63 - 1, msgpack.Timestamp((2**63 - 1) // 10**6, (2**63 - 1) % 10**6 * 1_000), id="last"),
        pytest.param(-(2**63), msgpack.Timestamp(-(2**63) // 10**6, -(2**63) % 10**6 * 1_000), id="first"),
    ],
)
def test_timestamp_is_packed_at_any_distance_from_1970(micros: int, timestamp: msgpack.Timestamp) -> None:
    assert unpacked(pack(pa.array([micros, None], MOMENT))) == [timestamp, None]


@pytest.mark.parametrize(
    ("day", "text"),
    [
        pytest.param(-719_162, "0001-01-01", id="first of Python"),
        pytest.param(2_932_896, "9999-12-31", id="last of Python"),
        pytest.param(-719_163, "0000-12-31", id="year 0"),
        pytest.param(-719_529, "-0001-12-31", id="before year 0"),
        pytest.param(2_932_897, "+10000-01-01", id="year 10000"),
        pytest.param(-(2**31), "-5877641-06-23", id="first of Spark"),
        pytest.param(2**31 - 1, "+5881580-07-11", id="last of Spark"),
    ],
)
def test_date_is_text_with_a_sign_before_years_that_have_not_four_digits(day: int, text: str) -> None:
    days = pa.array([day, None, 0], pa.int32()).cast(pa.date32())

    assert unpacked(pack(days)) == [text, None, "1970-01-01"]


@pytest.mark.parametrize(
    ("values", "arrow_type", "expected"),
    [
        pytest.param(
            [5, None, -1],
            pa.timestamp("us"),
            ["1970-01-01T00:00:00.000005", None, "1969-12-31T23:59:59.999999"],
            id="no zone",
        ),
        pytest.param(
            [0, 2**63 - 1],
            pa.timestamp("us"),
            ["1970-01-01T00:00:00", "+294247-01-10T04:00:54.775807"],
            id="no zone, far ahead",
        ),
        pytest.param(
            [0, 36_000_000_000_000, 1, 86_399_999_999_999],
            pa.time64("ns"),
            ["00:00:00", "10:00:00", "00:00:00.000000001", "23:59:59.999999999"],
            id="times",
        ),
        pytest.param(
            [93_784_500_000, None, -1], pa.duration("us"), [93_784_500_000, None, -1], id="interval day to second"
        ),
        pytest.param(
            [(14, 25, 7_500_000_000), None, (-1, 0, -1_000)],
            pa.month_day_nano_interval(),
            [[14, 25, 7_500_000], None, [-1, 0, -1]],
            id="calendar interval",
        ),
        pytest.param(
            [decimal.Decimal("12.50"), None, decimal.Decimal("-1E-18")],
            pa.decimal128(38, 18),
            ["12.500000000000000000", None, "-1E-18"],
            id="decimal",
        ),
        pytest.param([1.5, None, float("inf")], pa.float32(), [1.5, None, float("inf")], id="float"),
        pytest.param([True, None, False], pa.bool_(), [True, None, False], id="boolean"),
        pytest.param(["a", None], pa.large_string(), ["a", None], id="large strings"),
        pytest.param([b"a", None], pa.large_binary(), [b"a", None], id="large binaries"),
        pytest.param(
            [[([1], "a"), ([], "b")], None, []],
            pa.map_(pa.list_(pa.int32()), pa.string()),
            [[[[1], "a"], [[], "b"]], None, []],
            id="arrays as keys",
        ),
        pytest.param(
            [[({"x": 1}, None)]],
            pa.map_(pa.struct([("x", pa.int8())]), pa.int8()),
            [[[{"x": 1}, None]]],
            id="structs as keys",
        ),
        pytest.param(
            [[((1, 2, 3_000), "a")]],
            pa.map_(pa.month_day_nano_interval(), pa.string()),
            [[[[1, 2, 3], "a"]]],
            id="intervals as keys",
        ),
        pytest.param(
            [{"srid": 4326, "wkb": b"1"}],
            pa.struct([("srid", pa.int32()), ("wkb", pa.binary())]),
            [{"srid": 4326, "wkb": b"1"}],
            id="geometry",
        ),
    ],
)
def test_value_has_the_form_of_the_document(values: list[Any], arrow_type: pa.DataType, expected: list[Any]) -> None:
    assert unpacked(pack(pa.array(values, arrow_type))) == expected


@pytest.mark.parametrize("number", [0, 31, 32, 255, 256, 65_535, 65_536], ids=str)
def test_length_takes_the_fewest_bytes(number: int) -> None:
    text, items = "x" * number, [None] * number
    entries = dict.fromkeys(range(number))

    assert pack(pa.array([text]))[0].as_py() == msgpack.packb(text)
    assert pack(pa.array([text.encode()]))[0].as_py() == msgpack.packb(text.encode())
    assert pack(pa.array([items], pa.list_(pa.null())))[0].as_py() == msgpack.packb(items)
    assert pack(pa.array([list(entries.items())], pa.map_(pa.int32(), pa.null())))[0].as_py() == msgpack.packb(entries)


@pytest.mark.parametrize("bits", range(64))
def test_integer_takes_the_fewest_bytes(bits: int) -> None:
    numbers = [sign * ((1 << bits) + more) for sign in (1, -1) for more in (-1, 0, 1)]
    numbers = [number for number in numbers if -(2**63) <= number < 2**63]

    assert pack(pa.array(numbers, pa.int64())).to_pylist() == [msgpack.packb(number) for number in numbers]


@pytest.mark.parametrize(
    ("arrow_type", "message"),
    [
        pytest.param(
            pa.struct([("x", pa.list_(pa.struct([("y", pa.uint8())])))]),
            "x: y: uint8 has no form in msgpack",
            id="nested",
        ),
        pytest.param(pa.large_list(pa.int32()), "large_list<item: int32> has no form in msgpack", id="not of Spark"),
        pytest.param(
            pa.struct([("x", pa.int32()), ("x", pa.string())]), "two fields have the name x", id="equal names"
        ),
    ],
)
def test_type_that_has_no_form_is_refused_by_name_even_of_an_empty_column(
    arrow_type: pa.DataType, message: str
) -> None:
    with pytest.raises(SchemaError, match=f"^{message}"):
        pack(pa.array([], arrow_type))


def test_rows_of_more_than_two_gibibytes_are_refused_with_what_limits_them() -> None:
    size = (1 << 31) + 10
    # The pages of these zeros are never touched.
    buffers = [None, pa.py_buffer(np.array([0, size])), pa.py_buffer(np.zeros(size, np.uint8))]
    column = pa.Array.from_buffers(pa.large_binary(), 1, buffers)

    with pytest.raises(UnpackableValueError, match=r"expected less than 2 GiB, which spark\.sql.*maxRecordsPerBatch"):
        pack(column)
