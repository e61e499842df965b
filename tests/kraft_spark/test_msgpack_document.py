"""The snippets of docs/msgpack.md run, in their order and in one session, and its table names every type of Spark."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession, types

from tests.processes.commands import ROOT

DOCUMENT = (ROOT / "docs" / "msgpack.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.mark.spark
def test_snippets_run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"spark": spark.newSession()}

    for snippet in SNIPPETS:
        exec(compile(snippet, "docs/msgpack.md", "exec"), names)  # our own document

    printed = capsys.readouterr().out
    assert re.search(r"\|orders\| +12\|", printed)
    assert re.search(r"\{NULL, NULL, \[C1\]\}", printed)


TYPES = {
    "ArrayType": "array",
    "BinaryType": "binary",
    "BooleanType": "boolean",
    "ByteType": "byte",
    "CalendarIntervalType": "interval (calendar interval)",
    "CharType": "char",
    "DateType": "date",
    "DayTimeIntervalType": "interval day to second, and its parts",
    "DecimalType": "decimal",
    "DoubleType": "double",
    "FloatType": "float",
    "GeographyType": "geography",
    "GeometryType": "geometry",
    "IntegerType": "int",
    "LongType": "long",
    "MapType": "map",
    "NullType": "void",
    "ShortType": "short",
    "StringType": "string",
    "StructType": "struct",
    "TimeType": "time",
    "TimestampNTZType": "timestamp_ntz",
    "TimestampType": "timestamp",
    "VarcharType": "varchar",
    "VariantType": "variant",
    "YearMonthIntervalType": "interval year to month, and its parts",
}
ABSTRACT = {
    "AnsiIntervalType",
    "AnyTimeType",
    "AtomicType",
    "DataType",
    "DatetimeType",
    "FractionalType",
    "IntegralType",
    "NumericType",
    "SpatialType",
    "StructField",
    "UserDefinedType",
}


def test_table_of_encodings_names_every_type_of_spark() -> None:
    table = DOCUMENT.split("## Encodings")[1].split("## Reading")[0]
    lines = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    named = {name for line in lines for name in (line, *line.split(", "))}
    of_spark = {
        name
        for name, value in vars(types).items()
        if isinstance(value, type) and issubclass(value, types.DataType) and name not in ABSTRACT
    }

    assert of_spark == set(TYPES)
    assert not set(TYPES.values()) - named


def test_document_names_every_type_that_a_schema_cannot_have() -> None:
    assert "geometry, geography | `struct<srid:int,wkb:binary>`" in DOCUMENT
