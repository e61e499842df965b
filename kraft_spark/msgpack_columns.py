"""Converts columns to msgpack and back, like Spark's `to_json` and `from_json`.

    packed = rows.select(to_msgpack(struct("*")))
    unpacked = packed.select(from_msgpack("value", "name string, size bigint"))

docs/msgpack.md has the encoding of each type, and what happens to malformed bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, BooleanType, DataType, StructType

from kraft_spark.msgpack.errors import SchemaError
from kraft_spark.msgpack.options import Options, ParseMode, read_options
from kraft_spark.msgpack.types import carrier_of, cast_type, check_type, nullable
from kraft_spark.packer import pack
from kraft_spark.unpacker import unpack, unpack_rows

Mode = Literal["FAILFAST", "PERMISSIVE"]

Convert = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A function from bytes to values, as Spark calls it.

    Fields:
        convert: the function.
        returned: the type that it returns.
        result: the type to which Spark casts it.
    """

    convert: Convert
    returned: DataType
    result: DataType

    @property
    def is_cast(self) -> bool:
        """Whether Spark must cast what the function returns."""
        return self.returned != self.result


def to_msgpack(data: Column | str) -> Column:
    """Pack each row of a column; null stays null.

    Args:
        data: a column of any type, most often a struct. A year-month interval must be inside a struct, because Spark's
            Python workers cannot read such a column (`KeyError: 21`).

    Returns:
        A binary column. The query ends with an error if a variant has a year after 9999, or if two fields of a struct
        have the same name.
    """
    packed: Column = arrow_udf(packer(), returnType=BinaryType())(_column(data))  # type: ignore[call-overload]  # stubs lack pa
    return packed


def from_msgpack(
    data: Column | str,
    schema: DataType | str,
    mode: Mode | None = None,
    options: Mapping[str, str] | None = None,
) -> Column:
    """Unpack each row of a binary column; null stays null.

    Fields that the schema does not have are dropped; fields that the bytes do not have are null.

    If the schema is a struct with the field `_corrupt_record binary`, the field gets the bytes of a malformed row in
    the mode PERMISSIVE. The other fields that fit are kept, as `from_json` does, and all fields of the result are
    nullable. Without it, a malformed row is null.

    Args:
        data: a binary column.
        schema: the type of the result, as a type or as DDL ("name string, size bigint"). `char` and `varchar` become
            `string`.
        mode: what happens if the bytes are not msgpack or do not fit the schema (another type, a number out of range,
            no value for a field that is `not null`): FAILFAST, the default, ends the query with an error that names the
            field; PERMISSIVE returns null. Letters of either case.
        options: `mode`, and `columnNameOfCorruptRecord`: the name of the field for the bytes of malformed rows; by
            default the session's `spark.sql.columnNameOfCorruptRecord`.

    Raises:
        SchemaError: a ValueError: an option or the mode is unknown, the mode is DROPMALFORMED (use `read_msgpack`), or
            a type in the schema cannot be unpacked.
    """
    chosen = read_options(mode, options, default=ParseMode.FAILFAST)
    reader = reader_of(schema, chosen)
    unpacked: Column = arrow_udf(reader.convert, returnType=reader.returned)(_column(data))  # type: ignore[call-overload]  # stubs lack it
    return unpacked.cast(reader.result) if reader.is_cast else unpacked


def read_msgpack(
    rows: DataFrame,
    data: Column | str,
    schema: DataType | str,
    *,
    name: str,
    mode: Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Add a column with the unpacked rows of another column; remove malformed rows if the mode is DROPMALFORMED.

    Rows in which the binary column is null are kept; `rows.transform(read_msgpack, "value", schema, name="change")`.

    Args:
        rows: a batch or a stream.
        data: a binary column.
        schema: as for `from_msgpack`.
        name: of the new column; replaces a column of this name.
        mode: as for `from_msgpack`, or DROPMALFORMED, which is the default.
        options: as for `from_msgpack`.

    Raises:
        SchemaError: as for `from_msgpack`.
    """
    chosen = read_options(mode, options, default=ParseMode.DROPMALFORMED)
    if chosen.mode is not ParseMode.DROPMALFORMED:
        return rows.withColumn(name, from_msgpack(data, schema, options=_as_mapping(chosen)))
    data_type = _parsed(schema)
    corrupt = chosen.corrupt_field(data_type)
    read = nullable(data_type) if corrupt is not None else data_type
    flagged = StructType().add("row", carrier_of(read)).add("is_malformed", BooleanType(), False)

    def flag(column: pa.Array) -> pa.Array:
        unpacked = unpack_rows(column, data_type, is_permissive=True, corrupt_record=corrupt)
        is_malformed = pa.array(unpacked.malformed, pa.bool_())
        return pa.StructArray.from_arrays([unpacked.rows, is_malformed], names=["row", "is_malformed"])

    # Spark would call a deterministic function twice: once to remove rows, and once for the others.
    call = arrow_udf(flag, returnType=flagged).asNondeterministic()  # type: ignore[call-overload]  # stubs lack it
    flags = col(_quoted(name))
    row = flags["row"].cast(cast_type(read)) if carrier_of(read) != cast_type(read) else flags["row"]
    return rows.withColumn(name, call(_column(data))).where(~flags["is_malformed"]).withColumn(name, row)


def packer() -> Convert:
    """Return the function that `to_msgpack` calls."""

    def convert(column: pa.Array) -> pa.Array:
        return pack(column)

    # The name of the result is to_msgpack(data), like that of `to_avro`.
    convert.__name__ = "to_msgpack"
    return convert


def reader_of(schema: DataType | str, options: Options) -> Reader:
    """Return the function that `from_msgpack` calls.

    Raises:
        SchemaError: the mode is DROPMALFORMED, or a type in the schema cannot be unpacked.
    """
    if options.mode is ParseMode.DROPMALFORMED:
        raise SchemaError(
            "mode DROPMALFORMED: a column cannot remove rows, expected FAILFAST or PERMISSIVE; "
            "kraft_spark.read_msgpack removes malformed rows"
        )
    data_type = _parsed(schema)
    corrupt = options.corrupt_field(data_type)
    is_permissive = options.mode is ParseMode.PERMISSIVE
    shown = nullable(data_type) if corrupt is not None else data_type

    def convert(column: pa.Array) -> pa.Array:
        return unpack(column, data_type, is_permissive=is_permissive, corrupt_record=corrupt)

    convert.__name__ = "from_msgpack"
    return Reader(convert=convert, returned=carrier_of(shown), result=cast_type(shown))


def _parsed(schema: DataType | str) -> DataType:
    if not isinstance(schema, DataType | str):
        raise SchemaError(f"schema {schema}: found {type(schema).__name__}, expected a type of Spark, or DDL")
    data_type = DataType.fromDDL(schema) if isinstance(schema, str) else schema
    check_type(data_type)
    return data_type


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _as_mapping(options: Options) -> dict[str, str]:
    return {"mode": options.mode.value, "columnNameOfCorruptRecord": options.corrupt_record}


def _column(data: Column | str) -> Column:
    return col(data) if isinstance(data, str) else data
