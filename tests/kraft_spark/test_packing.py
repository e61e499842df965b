"""Arrow columns to msgpack, without Spark: nested columns, parts of columns, and what has no form."""

from __future__ import annotations

import datetime
from typing import Any

import msgpack
import pyarrow as pa
import pytest

from kraft_spark.packing import pack

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
    "day", [pytest.param(datetime.date.min, id="first"), pytest.param(datetime.date.max, id="last")]
)
def test_date_is_packed_when_it_has_four_digits_for_its_year(day: datetime.date) -> None:
    assert unpacked(pack(pa.array([day, None], pa.date32()))) == [day.isoformat(), None]


@pytest.mark.parametrize("day", [-719_163, 2_932_897], ids=["year 0", "year 10000"])
def test_date_is_refused_when_it_has_not(day: int) -> None:
    days = pa.array([{"d": 0}, {"d": day}], pa.struct([("d", pa.int32())]))

    with pytest.raises(ValueError, match=f"^the date {day} days from 1970 has no form in msgpack, expected a year"):
        pack(days.cast(pa.struct([("d", pa.date32())])))


@pytest.mark.parametrize(
    ("arrow_type", "message"),
    [
        pytest.param(pa.duration("us"), "interval day to second has no form in msgpack", id="interval"),
        pytest.param(
            pa.struct([("moment", pa.timestamp("us"))]), "moment: timestamp_ntz has no form in msgpack", id="no zone"
        ),
        pytest.param(
            pa.struct([("x", pa.list_(pa.struct([("y", pa.time64("ns"))])))]),
            r"x: y: time\(6\) has no form in msgpack",
            id="nested",
        ),
        pytest.param(
            pa.map_(pa.list_(pa.int32()), pa.int32()),
            "array<int> has no form in msgpack as the key of a map",
            id="key",
        ),
        pytest.param(pa.struct([("x", pa.int32()), ("x", pa.string())]), "two fields have the name", id="equal names"),
    ],
)
def test_type_that_has_no_form_is_refused_by_name_even_of_an_empty_column(
    arrow_type: pa.DataType, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        pack(pa.array([], arrow_type))
