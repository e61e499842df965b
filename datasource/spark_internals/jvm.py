"""What the driver's program asks the JVM of its application."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession


def has_jvm(spark: SparkSession) -> bool:
    """Whether the driver of a session is this process: not with Spark Connect."""
    return hasattr(spark, "_jvm")


def has_started() -> bool:
    """Whether this process has started a JVM."""
    return SparkContext._gateway is not None


def set_active_session(spark: SparkSession) -> None:
    """Make a session the active one of the thread in the JVM that belongs to the calling thread."""
    jvm, session = spark._jvm, spark._jsparkSession
    assert jvm is not None, "a session has a JVM"
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session)


def java_context(context: SparkContext) -> Any | None:
    """Return the SparkContext of the JVM; None if the application has ended."""
    java_context = context._jsc
    return None if java_context is None else java_context.sc()


def environment_variable(context: SparkContext, name: str) -> str | None:
    """Return a variable of the environment with which the JVM was started."""
    jvm = context._jvm
    assert jvm is not None, "a session has a JVM"
    value: str | None = jvm.java.lang.System.getenv(name)
    return value
