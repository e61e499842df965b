"""What the processes of Spark know about the application and their task."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark import TaskContext

HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""If this environment variable is set, a worker reports an error without its traceback.

Source: pyspark.util.handle_worker_exception; pyspark/worker.py, main.
"""


def files_folder() -> Path | None:
    """Return the folder with the files of the application; None in a process that is no part of one."""
    from pyspark import SparkFiles

    # The method of SparkFiles raises an error outside of an application.
    folder = SparkFiles._root_directory
    return None if folder is None else Path(folder)


def task_properties(context: TaskContext) -> Mapping[str, str]:
    """Return all local properties of a task, of which the public method returns only one by its name."""
    return context._localProperties or {}


def takes_filters() -> bool:
    """Whether Spark hands the filters of a batch read over in this process.

    Spark refuses a reader that takes filters unless `spark.sql.python.filterPushdown.enabled` is true, and hands them
    over in a process that runs a module of its own.
    """
    return "pyspark.sql.worker.data_source_pushdown_filters" in sys.modules
