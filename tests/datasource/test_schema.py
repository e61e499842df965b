"""Columns that are read, and columns that a write may have."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from datasource.columns import read_schema
from datasource.option_values import ReadColumns
from datasource.options import ReadOptions
from datasource.schema import check_written_columns, read_columns

HEADERS = "array<struct<key:string,value:binary>>"


def columns(**given: str) -> StructType:
    return read_columns(ReadOptions.of({"kraft.bootstrap.servers": "h:1", **given}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, "", id="always"),
        pytest.param({"includeHeaders": "true"}, f",headers:{HEADERS}", id="headers"),
        pytest.param({"includeControlRecords": "true"}, ",control:string", id="control"),
        pytest.param(
            {"includeControlRecords": "true", "includeHeaders": "true"}, f",headers:{HEADERS},control:string", id="both"
        ),
    ],
)
def test_read_has_exactly_these_columns(given: dict[str, str], expected: str) -> None:
    always = "key:binary,value:binary,offset:bigint,timestamp:timestamp,epoch:int"

    assert columns(**given).simpleString() == f"struct<{always}{expected}>"


@pytest.mark.parametrize("with_headers", [False, True])
def test_decoded_rows_have_the_schema_that_spark_makes_of_the_columns(with_headers: bool) -> None:
    wanted = to_arrow_schema(columns(includeHeaders=str(with_headers)), timezone="UTC")

    found = read_schema(headers=with_headers)

    assert found.equals(pa.schema(wanted))


HEADERS_TYPE = ArrayType(StructType().add("key", StringType()).add("value", BinaryType()))
TEXT, BYTES = StringType(), BinaryType()


def struct_of(**fields: DataType) -> StructType:
    struct = StructType()
    for name, data_type in fields.items():
        struct.add(name, data_type)
    return struct


@pytest.mark.parametrize(
    "schema",
    [
        struct_of(value=BYTES),
        struct_of(value=TEXT),
        struct_of(key=TEXT, value=BYTES),
        struct_of(headers=HEADERS_TYPE, value=TEXT, key=BYTES),
        StructType().add("value", TEXT, nullable=False),
    ],
    ids=lambda schema: schema.simpleString(),
)
def test_columns_of_a_record_are_taken(schema: StructType) -> None:
    check_written_columns(schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (struct_of(value=IntegerType()), "column value has type int; expected binary or string"),
        (struct_of(key=TimestampType(), value=TEXT), "column key has type timestamp; expected binary or string"),
        (
            struct_of(headers=MapType(TEXT, TEXT), value=TEXT),
            f"column headers has type map<string,string>; expected {HEADERS}",
        ),
        (
            struct_of(value=TEXT, topic=TEXT),
            "column topic has no place in a record; expected value, key or headers",
        ),
        (struct_of(key=TEXT), "column value is missing; columns are key"),
        (StructType(), "column value is missing; columns are none"),
        (
            StructType().add("value", TEXT).add("key", TEXT).add("value", TEXT),
            "column value is given 2 times, expected value, key and headers once each: select each column once",
        ),
    ],
    ids=["value", "key", "headers", "unknown", "no value", "no column", "twice"],
)
def test_other_columns_are_refused_by_name(schema: StructType, message: str) -> None:
    with pytest.raises(ValueError, match="column") as refusal:
        check_written_columns(schema)

    assert str(refusal.value) == message


OF_A_READ = columns(includeHeaders="true")


@pytest.mark.parametrize("fate", [ReadColumns.DROP, ReadColumns.KEEP_TIMESTAMPS])
def test_columns_of_a_read_are_taken_when_the_option_says_what_becomes_of_them(fate: ReadColumns) -> None:
    check_written_columns(OF_A_READ, fate)


@pytest.mark.parametrize(
    ("schema", "fate", "message"),
    [
        pytest.param(
            OF_A_READ,
            ReadColumns.REFUSE,
            "column offset is of a read, and the log gives each record its own; expected value, key or headers: drop "
            "the column, or set the option readColumns to drop or keepTimestamps",
            id="refused",
        ),
        pytest.param(
            struct_of(value=TEXT, offset=TEXT, timestamp=TEXT),
            ReadColumns.KEEP_TIMESTAMPS,
            "column timestamp has type string; expected timestamp",
            id="type of the timestamp",
        ),
        pytest.param(
            struct_of(value=TEXT, timestamp=TimestampNTZType()),
            ReadColumns.KEEP_TIMESTAMPS,
            "column timestamp has type timestamp_ntz; expected timestamp",
            id="time without a zone",
        ),
        pytest.param(
            struct_of(value=TEXT),
            ReadColumns.KEEP_TIMESTAMPS,
            "column timestamp is missing, whose times readColumns=keepTimestamps keeps",
            id="no timestamp",
        ),
        pytest.param(
            columns(includeControlRecords="true"),
            ReadColumns.DROP,
            "column control marks the protocol's own records, which are not copied: select the rows where it is null, "
            "and drop it",
            id="control records",
        ),
        pytest.param(
            struct_of(value=TEXT, topic=TEXT),
            ReadColumns.DROP,
            "column topic has no place in a record; expected value, key or headers",
            id="a column of no read",
        ),
    ],
)
def test_copy_is_refused_by_the_column(schema: StructType, fate: ReadColumns, message: str) -> None:
    with pytest.raises(ValueError, match="column") as refusal:
        check_written_columns(schema, fate)

    assert str(refusal.value) == message
