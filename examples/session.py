"""The Spark session of the examples: small, with few log lines, and with this Python in its workers."""

from __future__ import annotations

import os
import subprocess
import sys

from pyspark.sql import SparkSession


def small_session(name: str) -> SparkSession:
    """Create a local session.

    Spark's Python workers run `python3` of the PATH unless PYSPARK_PYTHON is set before the session is created. They
    need the Python of this program, in which the connector is installed.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.appName(name)
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def end_session(spark: SparkSession) -> None:
    """Stop Spark and wait for its JVM, which would otherwise end a moment after this program."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "Spark runs"
    spark.stop()
    gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    jvm.communicate()
