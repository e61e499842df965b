"""The Spark session of the examples: small, without progress output, and with this program's Python in its workers."""

from __future__ import annotations

import os
import subprocess
import sys

from pyspark.sql import SparkSession


def small_session(name: str) -> SparkSession:
    """Create a local session.

    Spark's Python workers run `python3` of the PATH unless PYSPARK_PYTHON names another one. It is set here before the
    session is created, because the connector is installed in the Python of this program.
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
    """Stop Spark, and wait until its JVM has exited: otherwise it would end a moment after this program."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "Spark runs"
    spark.stop()
    gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    jvm.communicate()
