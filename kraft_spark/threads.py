"""Threads that write: the session that Spark's lookup of data sources needs.

Spark looks for a data source in Python in the active session of the JVM's thread. Each thread of Python has a thread of
its own in the JVM, and only that of the program's first session has an active session. In any other one, `save()` and
`start()` with `format("kraft")` fail with DATA_SOURCE_NOT_FOUND, until a method of PySpark happens to set the session,
as `createDataFrame` does. PySpark's `InheritableThread` copies local properties only.

Source: PySpark's SparkSession.createDataFrame; Spark's DataSource.lookupDataSourceV2.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from datasource.spark_internals.jvm import has_jvm, set_active_session


def use_in_thread(spark: SparkSession) -> None:
    """Let the calling thread write with a session.

    Call it once in each thread that the program starts, before the first write. It needs Spark's default
    `PYSPARK_PIN_THREAD=true`, by which a thread keeps its thread in the JVM. With Spark Connect it does nothing: the
    server sets the session.

    Args:
        spark: the session of the DataFrame that is written: `rows.sparkSession`.
    """
    if has_jvm(spark):
        set_active_session(spark)
