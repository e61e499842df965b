"""Excludes the imported modules of Spark's Python workers from garbage collections.

Spark runs `gc.collect()` in a worker after each task. With PySpark, Arrow and this project there are some hundred
thousand objects to examine, which took 17 % of a worker's time in a batch read of the whole log, and more with short
tasks. Imported modules stay for the life of the process, so the collector need not examine them again.

Source: pyspark/daemon.py, manager; gc.freeze.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from importlib import import_module

_LATE_MODULES = {
    "pyspark.worker": ("datasource.range_reader", "datasource.write_commit"),
    "pyspark.sql.worker.commit_data_source_write": ("datasource.write_commit",),
    "pyspark.sql.worker.python_streaming_sink_runner": ("datasource.write_commit",),
}
"""The modules that each kind of worker imports later, by the name with which Spark's daemon is started."""


def settle_imports(arguments: Sequence[str]) -> None:
    """Import the modules that this worker needs, and exclude all objects from later collections.

    It does nothing in other processes than Spark's Python workers, because a program decides about its own memory.

    Args:
        arguments: of the command line of the process.
    """
    if os.environ.get("SPARK_PYTHON_RUNTIME") != "PYTHON_WORKER":
        return
    for module in _LATE_MODULES.get(arguments[1] if len(arguments) > 1 else "", ()):
        import_module(module)
    gc.freeze()
