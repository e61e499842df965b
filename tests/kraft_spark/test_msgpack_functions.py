"""The functions of SQL for msgpack, as users call them by name."""

from __future__ import annotations

from collections.abc import Iterator

import msgpack
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import Row, SparkSession

from kraft_spark import register_msgpack_functions, register_msgpack_reader
from raft.errors import ConfigError

pytestmark = pytest.mark.spark


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of its own, without functions of other tests."""
    session = spark.newSession()
    yield session
    spark.active()


def one(session: SparkSession, expression: str) -> object:
    return session.sql(f"select {expression}").collect()[0][0]


@pytest.mark.parametrize("times", [1, 2])
def test_functions_pack_and_unpack_in_sql_however_often_they_are_registered(session: SparkSession, times: int) -> None:
    for _ in range(times):
        register_msgpack_functions(session)

    packed = "to_msgpack(named_struct('a', 5L, 'b', array('x', null)))"

    assert one(session, packed) == msgpack.packb({"a": 5, "b": ["x", None]})
    assert one(session, f"variant_get(from_msgpack({packed}), '$.a', 'bigint')") == 5
    assert one(session, f"cast(from_msgpack({packed}) as struct<b: array<string>>)") == Row(b=["x", None])
    assert one(session, "try_from_msgpack(null)") is None
    assert session.range(1).selectExpr("to_msgpack(id)").columns == ["to_msgpack(id)"]


VALUES = {
    "nil": ("array(null)", "[null]"),
    "integers": ("array(0, 127, -128, 32767, 2147483647, 9223372036854775807)", None),
    "float": ("1e300d", "1.0E300"),
    "texts": ("array('', repeat('x', 63), repeat('x', 64))", None),
    "binary": ("X'00FF'", '"AP8="'),
    "timestamp": ("timestamp'1969-12-31 23:59:59.5Z'", '"1969-12-31 23:59:59.5+00:00"'),
    "deep": ("named_struct('a', array(named_struct('b', map('c', array()))))", '{"a":[{"b":{"c":[]}}]}'),
    "long array": ("sequence(1, 300)", None),
    "large": ("array_repeat(repeat('x', 1000), 300)", None),
}


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES)
def test_value_is_a_variant_with_the_same_json(session: SparkSession, value: str, text: str | None) -> None:
    register_msgpack_functions(session)
    session.conf.set("spark.sql.session.timeZone", "UTC")

    assert one(session, f"to_json(from_msgpack(to_msgpack({value})))") == (text or one(session, f"to_json({value})"))


def test_object_of_many_fields_is_found_by_each_of_its_names(session: SparkSession) -> None:
    register_msgpack_functions(session)
    # Spark searches in objects of this size by the order of their names: U+FFFD is after U+1F600 in UTF-16.
    names = [*(f"field-{number}" for number in range(300)), "\ufffd", "\U0001f600"]
    rows = session.createDataFrame([(msgpack.packb({name: at for at, name in enumerate(names)}),)], "packed binary")

    columns = [f"variant_get(from_msgpack(packed), '$[\"{name}\"]', 'int')" for name in names]

    assert tuple(rows.selectExpr(*columns).collect()[0]) == tuple(range(len(names)))


def test_malformed_bytes_end_the_query_or_are_null(session: SparkSession) -> None:
    register_msgpack_functions(session)

    assert one(session, "try_from_msgpack(X'C1')") is None
    with pytest.raises(PythonException, match="these bytes are not variant in msgpack"):
        one(session, "from_msgpack(X'C1')")


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param("x int, `a b` string", {"x": 14, "a b": "text"}, id="direct"),
        pytest.param("x interval year to month, `a b` char(5)", {"x": "1-2", "a b": "text "}, id="cast"),
    ],
)
def test_reader_unpacks_to_its_schema_however_often_it_is_registered(
    session: SparkSession, schema: str, expected: dict[str, object], times: int
) -> None:
    for _ in range(times):
        register_msgpack_reader(session, "read_row", schema)
    rows = session.createDataFrame([(msgpack.packb({"x": 14, "a b": "text"}),), (None,)], "packed binary").coalesce(1)

    found = rows.selectExpr("read_row(packed) row").selectExpr("cast(row.x as string) x", "row.`a b` b").collect()

    assert len(found) == 2
    assert str(expected["x"]) in found[0].x
    assert found[0].b == expected["a b"]
    assert found[1] == (None, None)


def test_reader_can_get_another_schema(session: SparkSession) -> None:
    for schema in ("x int", "x interval month", "x string", "x interval"):
        register_msgpack_reader(session, "read_row", schema, "PERMISSIVE")

        found = session.sql("select read_row(X'C1') as row")

        assert found.schema["row"].dataType.simpleString() == f"struct<{schema.replace(' ', ':', 1)}>"
        assert found.collect()[0].row is None


def test_reader_has_a_field_for_corrupt_records(session: SparkSession) -> None:
    register_msgpack_reader(
        session, "read_row", "x int, bad binary", options={"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
    )

    assert one(session, "read_row(X'C1')") == Row(x=None, bad=b"\xc1")


def test_functions_are_of_their_session_only(session: SparkSession) -> None:
    register_msgpack_functions(session)

    with pytest.raises(AnalysisException, match="UNRESOLVED_ROUTINE"):
        session.newSession().sql("select to_msgpack(1)")


@pytest.mark.parametrize("name", ["", "1st", "a b", "a.b", "a`b"])
def test_name_that_is_no_identifier_is_refused(session: SparkSession, name: str) -> None:
    with pytest.raises(ConfigError, match=f"^name {name}: expected letters"):
        register_msgpack_reader(session, name, "x int")
