"""Functions of SQL for msgpack, registered in a session by name.

    register_msgpack_functions(spark)
    register_msgpack_reader(spark, "read_change", "name string, size bigint")

    SELECT to_msgpack(struct(name, size)) FROM ...
    SELECT variant_get(from_msgpack(value), '$.size', 'bigint') FROM ...
    SELECT read_change(value).size FROM ...

A function of Python has one type for its results. So `from_msgpack` returns a variant, like `parse_json`, and each
schema is a function of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, DataType, VariantType

from kraft_spark.msgpack.errors import SchemaError
from kraft_spark.msgpack.options import Options, ParseMode, read_options
from kraft_spark.msgpack.types import sql_text
from kraft_spark.msgpack_columns import Convert, Mode, packer, reader_of

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def register_msgpack_functions(spark: SparkSession) -> None:
    """Register the functions of msgpack in a session; a second call replaces them.

    to_msgpack(value)          binary: like `kraft_spark.to_msgpack`
    from_msgpack(binary)       variant; malformed bytes end the query with an error
    try_from_msgpack(binary)   variant; null for malformed bytes

    The keys of maps must be strings, because a variant has no other keys. Extensions other than the timestamp are
    malformed.
    """
    _register(spark, "to_msgpack", packer(), BinaryType())
    for name, mode in (("from_msgpack", ParseMode.FAILFAST), ("try_from_msgpack", ParseMode.PERMISSIVE)):
        reader = reader_of(VariantType(), Options(mode=mode, corrupt_record=""))
        _register(spark, name, reader.convert, reader.returned)


def register_msgpack_reader(
    spark: SparkSession,
    name: str,
    schema: DataType | str,
    mode: Mode | None = None,
    options: Mapping[str, str] | None = None,
) -> None:
    """Register a function that unpacks a binary column to a schema; a second call replaces it.

    Args:
        spark: the session.
        name: of the function: letters, digits and underscores.
        schema: as for `from_msgpack`.
        mode: as for `from_msgpack`.
        options: as for `from_msgpack`.

    Raises:
        SchemaError: the name cannot be used; or as for `from_msgpack`.
    """
    if not _NAME.fullmatch(name):
        raise SchemaError(f"name {name}: expected letters, digits and underscores, and no digit first")
    reader = reader_of(schema, read_options(mode, options, default=ParseMode.FAILFAST))
    if not reader.is_cast:
        _drop(spark, name)
        _register(spark, name, reader.convert, reader.returned)
        return
    # Spark casts what the function returns: the registered function is one of SQL around it.
    inner = f"{name}_before_cast"
    _drop(spark, name)
    _register(spark, inner, reader.convert, reader.returned)
    result = sql_text(reader.result)
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY FUNCTION {name}(packed BINARY) RETURNS {result} "
        f"RETURN CAST({inner}(packed) AS {result})"
    )


def _register(spark: SparkSession, name: str, convert: Convert, returned: DataType) -> None:
    convert.__name__ = name
    spark.udf.register(name, arrow_udf(convert, returnType=returned))  # type: ignore[call-overload]  # stubs lack pa


def _drop(spark: SparkSession, name: str) -> None:
    spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
