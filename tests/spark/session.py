"""The Spark session that the tests of all folders share."""

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
    """Create or return the session: two cores, failed tasks are retried, and workers run this Python.

    Args:
        folder: gets the files of its tables.
    """
    # Spark reads PYSPARK_PYTHON, the program of its workers, when the JVM starts.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Defaults of options: an empty file, which tests of tables fill (`tests.spark.defaults`).
    folder.mkdir(parents=True, exist_ok=True)
    defaults = folder / "kraft.properties"
    defaults.touch()
    os.environ["KRAFT_CONFIG"] = str(defaults)
    os.environ["KRAFT_CONFIG_PROVIDERS"] = "file"
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
    """The session, which is stopped after the last test; folders that import this fixture share it."""
    spark = make_session(tmp_path_factory.mktemp("warehouse"))
    yield spark
    if SparkContext._gateway is not None:
        spark.stop()
        _end(SparkContext._gateway)


def _end(gateway: Any) -> None:
    """Stop the JVM, which would otherwise run as long as this process; the next session starts a new one."""
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=30)
    SparkContext._gateway = SparkContext._jvm = None


def put_shared_session_last(items: list[pytest.Item]) -> None:
    """Order tests so that those with the shared session run last, as other tests start applications of their own."""
    items.sort(key=lambda item: "spark" in getattr(item, "fixturenames", ()))
