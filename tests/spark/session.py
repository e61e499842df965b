"""The one Spark session of the tests, for every folder that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession


def make_session(folder: Path) -> SparkSession:
    """Make the session, or return the one there is: two cores, failed tasks tried again, this Python in the workers.

    Args:
        folder: where its tables lie.
    """
    # Spark's Python workers are whatever PYSPARK_PYTHON says when the JVM starts.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark: SparkSession = (
        SparkSession.builder.appName("tests")
        .master("local[2, 3]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, which lives until the last test is done; folders that import this fixture share it."""
    spark = make_session(tmp_path_factory.mktemp("warehouse"))
    yield spark
    if SparkContext._gateway is not None:
        spark.stop()
        _end(SparkContext._gateway)


def _end(gateway: Any) -> None:
    """End the JVM, which would live as long as this process; the next session starts one of its own."""
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=30)
    SparkContext._gateway = SparkContext._jvm = None


def put_shared_session_last(items: list[pytest.Item]) -> None:
    """Order tests so that those of the shared session come last: some others start applications of their own."""
    items.sort(key=lambda item: "spark" in getattr(item, "fixturenames", ()))
