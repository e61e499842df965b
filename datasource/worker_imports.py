"""Spares Spark's Python workers the walk through everything that they have imported.

Spark runs `gc.collect()` in a worker after each task. With PySpark, Arrow and this project imported, there are some
hundred thousand objects to look at, which took 17 % of a worker's time in a backfill, and more where tasks are short.
What is imported stays for the life of the process: the collector need not look at it again.

Source: pyspark/daemon.py, manager; gc.freeze.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from importlib import import_module

_LATE_MODULES = {
    "pyspark.worker": ("datasource.reading", "datasource.writing"),
    "pyspark.sql.worker.commit_data_source_write": ("datasource.writing",),
    "pyspark.sql.worker.python_streaming_sink_runner": ("datasource.writing",),
}
"""What each kind of worker is going to import when it is called, by the name that Spark's daemon is started with."""


def settle_imports(arguments: Sequence[str]) -> None:
    """Import what this worker needs, and leave all objects that there are then out of later collections.

    Does nothing but in Spark's Python workers: a program of the user's decides for itself how its memory is managed.

    Args:
        arguments: of the process's command line.
    """
    if os.environ.get("SPARK_PYTHON_RUNTIME") != "PYTHON_WORKER":
        return
    for module in _LATE_MODULES.get(arguments[1] if len(arguments) > 1 else "", ()):
        import_module(module)
    gc.freeze()
