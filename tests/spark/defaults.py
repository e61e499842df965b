"""The file with the defaults of options that the shared session has; it is empty outside of the tests that fill it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession


@contextmanager
def defaults(spark: SparkSession, text: str) -> Iterator[Path]:
    """Fill the file that `KRAFT_CONFIG` names with properties, and restore it afterwards.

    Args:
        spark: the session of the tests.
        text: the content.
    """
    # The processes that plan get the environment of the JVM, which may be older than that of this process.
    jvm = spark._jvm
    assert jvm is not None, "a classic session"
    path = Path(jvm.java.lang.System.getenv("KRAFT_CONFIG"))
    before = path.read_text()
    path.write_text(text)
    try:
        yield path
    finally:
        path.write_text(before)
