"""Year-month intervals in Arrow: pyarrow has no arrays of this type, so their bytes are read as integers."""

from __future__ import annotations

import pyarrow as pa

_MONTH_INTERVAL = 21
"""The id of the type in Arrow's C++ library (`Type::INTERVAL_MONTHS`), for which pyarrow has no name."""


def months_as_integers(column: pa.Array) -> pa.Array:
    """Return a column with integers, the number of months, in place of year-month intervals; nothing is copied."""
    if not _has_months(column.type):
        return column
    schema = _without_months(column.type).__arrow_c_schema__()
    _, values = column.__arrow_c_array__()
    return pa.Array._import_from_c_capsule(schema, values)


def _has_months(arrow_type: pa.DataType) -> bool:
    if arrow_type.id == _MONTH_INTERVAL:
        return True
    return any(_has_months(arrow_type.field(number).type) for number in range(arrow_type.num_fields))


def _without_months(arrow_type: pa.DataType) -> pa.DataType:
    if arrow_type.id == _MONTH_INTERVAL:
        return pa.int32()
    if pa.types.is_struct(arrow_type):
        return pa.struct([_plain(field) for field in arrow_type])
    if pa.types.is_map(arrow_type):
        return pa.map_(_plain(arrow_type.key_field), _plain(arrow_type.item_field))
    if pa.types.is_list(arrow_type):
        return pa.list_(_plain(arrow_type.value_field))
    return arrow_type


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(_without_months(field.type))
