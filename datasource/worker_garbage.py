"""Spares Spark's Python workers the walk through everything that they have imported.

Spark runs `gc.collect()` in a worker after each task. With PySpark, Arrow and this project imported, there are some
hundred thousand objects to look at, which took 17 % of a worker's time in a backfill, and more where tasks are short.
What is imported stays for the life of the process: the collector need not look at it again.

Source: pyspark/daemon.py, manager; gc.freeze.
"""

from __future__ import annotations

import gc
import os


def freeze_imports() -> None:
    """Leave all objects that there are now out of later collections; in Spark's Python workers only.

    A program of the user's decides for itself how its memory is looked after.
    """
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER":
        gc.freeze()
