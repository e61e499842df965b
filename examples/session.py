"""The Spark session of the examples: small, quiet, and with this very Python in its workers."""

from __future__ import annotations

import os
import subprocess
import sys

from pyspark.sql import SparkSession


def small_session(name: str) -> SparkSession:
    """Make a local session.

    Spark's Python workers run `python3` of the PATH unless PYSPARK_PYTHON says otherwise, and it must be said before
    the session is made: the connector is installed where this program runs.
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
    """Stop Spark and wait for the end of its JVM, which would outlast this program by a moment."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "Spark runs"
    spark.stop()
    gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    jvm.communicate()
