"""The option `kraft.config`: one application uses two secured quorums that it has not started."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.local.conftest import QUICK
from tests.spark.defaults import defaults

pytestmark = pytest.mark.spark

TEXTS = "cast(value as string) value"


@pytest.mark.rule("AUTH-13")
def test_read_write_stream_and_table_each_name_the_file_of_their_quorum(spark: SparkSession, tmp_path: Path) -> None:
    with (
        LocalQuorum.start(tmp_path / "orders", voters=1, settings=QUICK) as orders,
        LocalQuorum.start(tmp_path / "stock", voters=1, settings=QUICK) as stock,
    ):
        from_file = {quorum: {"kraft.config": str(quorum.client_config)} for quorum in (orders, stock)}
        for quorum, value in ((orders, "an order"), (stock, "an item")):
            rows = spark.createDataFrame([(value,)], "value string")
            rows.write.format("kraft").options(**from_file[quorum]).mode("append").save()

        stream = spark.readStream.format("kraft").options(**from_file[orders], startingOffsets="earliest").load()
        query = (
            stream.selectExpr("value")
            .writeStream.format("kraft")
            .options(**from_file[stock], checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)

        read = spark.read.format("kraft").options(**from_file[stock]).load().selectExpr(TEXTS)
        values = [row.value for row in read.collect()]
        with defaults(spark, stock.client_config.read_text()):
            spark.sql("CREATE TABLE named_file USING kraft")
            try:
                named = f"SELECT {TEXTS} FROM named_file WITH ('kraft.config' = '{orders.client_config}')"
                in_table = [row.value for row in spark.sql(named).collect()]
            finally:
                spark.sql("DROP TABLE named_file")

    assert sorted(values) == ["an item", "an order"]
    assert in_table == ["an order"], "the file of the statement replaces the one of the environment"
