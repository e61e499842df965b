"""`use_in_thread` with a session that has no JVM; tests/spark/test_threads.py has the others."""

from __future__ import annotations

from typing import cast

from pyspark.sql import SparkSession

from kraft_spark import use_in_thread


class SessionOfConnect:
    """Has none of a classic session's attributes; any use of one would be an error."""


def test_session_of_spark_connect_needs_nothing() -> None:
    use_in_thread(cast("SparkSession", SessionOfConnect()))
