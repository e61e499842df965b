"""docs/sql.md: its statements run, with defaults from a file; those that it says are refused or ignored still are.

If one of the latter fails here after an upgrade of Spark, Spark can do more: the document says too little then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.processes.commands import ROOT
from tests.spark.defaults import defaults
from tests.spark.frames import Frames
from tests.spark.quorums import local_quorum

pytestmark = pytest.mark.spark

DOCUMENT = (ROOT / "docs" / "sql.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
DATABASE = "sql_document"


def table_below(heading: str) -> list[tuple[str, str]]:
    """The rows of the table below a heading: statement, and what it says about it."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(.+)` \| (.+) \|$", section, re.MULTILINE)


REFUSED = table_below("What is refused")
IGNORED = table_below("What has no effect")


@dataclass(frozen=True, slots=True)
class Ran:
    """The statements of the document that ran.

    Fields:
        frames: reads and writes of the log, without tables.
        names: the names of the blocks in Python.
        selected: the rows of each SELECT in SQL.
    """

    frames: Frames
    names: dict[str, Any]
    selected: list[list[tuple[Any, ...]]]

    def run(self, statement: str) -> None:
        """Run a statement in Python."""
        exec(compile(statement, "docs/sql.md", "exec"), self.names)  # our own document


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Run all blocks in their order."""
    folder = tmp_path_factory.mktemp("sql-document")
    (properties,) = (text for language, text in BLOCKS if language == "properties")
    with local_quorum(spark, folder / "quorum", voters=1) as quorum:
        file = re.sub(r"(?m)^bootstrap\.servers=.*$", f"bootstrap.servers={quorum.bootstrap_servers}", properties)
        with defaults(spark, file):
            spark.sql(f"CREATE DATABASE {DATABASE}")
            spark.sql(f"USE {DATABASE}")
            try:
                ran = Ran(Frames.of(spark, quorum), {"spark": spark}, [])
                for language, text in BLOCKS:
                    _run(ran, language, text, folder)
                yield ran
            finally:
                spark.sql("USE default")
                spark.catalog.dropTempView("last_orders")
                spark.sql(f"DROP DATABASE {DATABASE} CASCADE")


def _run(ran: Ran, language: str, text: str, folder: Path) -> None:
    if language == "python":
        ran.run(text.replace("/tmp/orders-checkpoint", str(folder / "checkpoint")))
    elif language == "sql":
        for statement in filter(None, map(str.strip, text.split(";"))):
            rows = [tuple(row) for row in ran.frames.spark.sql(statement).collect()]
            if statement.startswith("SELECT"):
                ran.selected.append(rows)


def test_statements_read_and_write_the_log(ran: Ran) -> None:
    texts, by_view, count, by_temporary_view = ran.selected

    assert [text for _, text in texts] == ["1 apple"]
    assert by_view == [("1 apple",)]
    assert count == [(2,)]
    assert [text for (text,) in by_temporary_view] == ["5 dates", "6 limes", "6 limes"]
    in_sql = ["1 apple", "2 pears", "3 plums", "4 figs", "5 dates", "6 limes", "6 limes"]
    in_python = ["7 kiwis"] * 7
    by_the_stream, copied, by_the_thread = in_sql + in_python, ["7 kiwis"], ["7 kiwis"]
    assert ran.frames.log_values() == in_sql + in_python + by_the_stream + copied + by_the_thread


def test_copy_by_sql_keeps_the_timestamp(ran: Ran) -> None:
    rows = ran.frames.read().where("value = cast('6 limes' as binary)").orderBy("offset").limit(2).collect()

    assert rows[0].timestamp == rows[1].timestamp


@pytest.mark.parametrize(("statement", "message"), REFUSED, ids=[statement for statement, _ in REFUSED])
def test_statement_is_refused_with_this_message(ran: Ran, statement: str, message: str) -> None:
    end = ran.frames.end()

    with pytest.raises(Exception) as refusal:  # noqa: PT011 - Spark has many kinds
        ran.run(statement)

    assert message in str(refusal.value)
    assert ran.frames.end() == end


def rows_of(ran: Ran, table: str) -> int:
    return ran.frames.spark.table(table).count()


def has_no_partitions(table: str) -> Callable[[Ran], None]:
    def check(ran: Ran) -> None:
        shown = ran.frames.spark.sql(f"SHOW CREATE TABLE {table}").first()
        assert shown is not None
        assert not re.search("PARTITIONED|CLUSTER", shown[0])

    return check


def has_no_options(ran: Ran) -> None:
    assert rows_of(ran, "with_options") == rows_of(ran, "orders")
    with pytest.raises(AnalysisException, match="startingOffsets=abc: expected earliest, latest"):
        ran.frames.spark.sql("CREATE TABLE wrong USING kraft OPTIONS (startingOffsets 'abc')")


def has_a_column_that_is_refused(ran: Ran) -> None:
    with pytest.raises(AnalysisException, match="column more has no place in a record"):
        ran.frames.spark.sql("INSERT INTO clustered VALUES ('k', 'v', 1)")


CHECKS: list[Callable[[Ran], None]] = [
    has_no_options,
    has_no_partitions("partitioned"),
    has_no_partitions("clustered"),
    has_no_partitions("in_buckets"),
    lambda _ran: None,
    has_a_column_that_is_refused,
]
WRITTEN = {"in_buckets": 1}


def test_statements_without_effect_have_none(ran: Ran) -> None:
    for (statement, _), check in zip(IGNORED, CHECKS, strict=True):
        count = rows_of(ran, "orders")
        ran.run(statement)
        written = sum(rows for table, rows in WRITTEN.items() if table in statement)
        assert rows_of(ran, "orders") == count + written, statement
        check(ran)


@pytest.mark.parametrize(
    "statement",
    [
        "spark.sql(\"CREATE OR REPLACE TABLE replaced USING kraft AS SELECT 'x' AS value\")",
        'rows.write.format("kraft").mode("overwrite").saveAsTable("replaced")',
        'rows.writeTo("replaced").using("kraft").replace()',
        'rows.writeTo("replaced").using("kraft").createOrReplace()',
    ],
)
def test_statement_that_replaces_a_table_removes_its_name_and_no_record(ran: Ran, statement: str) -> None:
    spark, end = ran.frames.spark, ran.frames.end()
    spark.sql("CREATE TABLE replaced (value STRING) USING kraft")

    with pytest.raises(AnalysisException, match="a log is only appended to"):
        ran.run(statement)

    assert not spark.catalog.tableExists("replaced")
    assert ran.frames.end() == end


def test_streaming_write_ignores_partitions(ran: Ran, tmp_path: Path) -> None:
    end = ran.frames.end()
    orders = ran.frames.spark.readStream.option("startingOffsets", "-1").table("orders").select("key", "value")
    for number, writer in enumerate((orders.writeStream.partitionBy("key"), orders.writeStream.clusterBy("key"))):
        checkpoint = str(tmp_path / str(number))
        query = writer.format("kraft").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()

    assert len(ran.frames.log_values(end)) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "spark.table('orders').count()",
        "spark.sql(\"INSERT INTO new_orders VALUES ('k', 'v')\")",
        "rows.write.insertInto('new_orders')",
    ],
)
def test_table_needs_no_session_in_a_second_thread(ran: Ran, statement: str) -> None:
    with ThreadPoolExecutor(1) as second_thread:
        second_thread.submit(ran.run, statement).result()


def test_defaults_that_cannot_be_used_are_an_error_of_the_first_read_and_write(ran: Ran) -> None:
    spark = ran.frames.spark
    with defaults(spark, "bootstrap.server=h:1\n") as file:
        message = f"the file {file} (KRAFT_CONFIG) cannot be used: unknown option bootstrap.server: did you mean"
        uses: list[Callable[[], Any]] = [
            lambda: spark.read.format("kraft").load(),
            lambda: spark.sql("INSERT INTO new_orders VALUES ('k', 'v')"),
        ]
        for use in uses:
            with pytest.raises(AnalysisException) as refusal:
                use()
            assert message in str(refusal.value)


def test_statement_without_defaults_says_where_they_are_missing(ran: Ran) -> None:
    with defaults(ran.frames.spark, ""), pytest.raises(AnalysisException) as refusal:
        ran.frames.spark.sql("SELECT * FROM orders").collect()

    assert "kraft.bootstrap.servers is missing: expected host:port,..., as an option or in the file" in str(
        refusal.value
    )
