"""The schema that Spark compares with its own before it accepts the first record batch."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from datasource.columns import read_schema


@pytest.mark.spark
@pytest.mark.parametrize("headers", [False, True], ids=["without headers", "with headers"])
def test_read_schema_is_the_one_spark_makes_of_the_documented_columns(headers: bool) -> None:
    header = StructType().add("key", StringType()).add("value", BinaryType())
    documented = (
        StructType()
        .add("key", BinaryType())
        .add("value", BinaryType())
        .add("offset", LongType())
        .add("timestamp", TimestampType())
        .add("epoch", IntegerType())
    )
    if headers:
        documented.add("headers", ArrayType(header))

    expected = to_arrow_schema(documented, timezone="UTC")

    assert read_schema(headers=headers).equals(expected, check_metadata=True)
    assert all(field.nullable for field in read_schema(headers=headers))
