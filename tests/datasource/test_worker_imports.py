"""What is imported stays out of later collections in Spark's workers, and in no other program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import gc, sys, pyspark_kraft
heavy = ("range_reader", "write_commit")
print(gc.get_freeze_count() > 10_000, *(name for name in heavy if f"datasource.{name}" in sys.modules))
"""


@pytest.mark.parametrize(
    ("runtime", "worker", "said"),
    [
        pytest.param("PYTHON_WORKER", ["pyspark.worker"], "True range_reader write_commit", id="tasks"),
        pytest.param(
            "PYTHON_WORKER", ["pyspark.sql.worker.commit_data_source_write"], "True write_commit", id="commits"
        ),
        pytest.param("PYTHON_WORKER", ["pyspark.sql.worker.lookup_data_sources"], "True", id="planning"),
        pytest.param("PYTHON_WORKER", [], "True", id="batches of a stream"),
        pytest.param("", ["pyspark.worker"], "False", id="a program of the user's"),
    ],
)
def test_workers_import_what_they_need_and_freeze_it(runtime: str, worker: list[str], said: str) -> None:
    environment = os.environ | {"SPARK_PYTHON_RUNTIME": runtime}

    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *worker], env=environment, capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == said
