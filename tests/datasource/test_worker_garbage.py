"""What is imported stays out of later collections in Spark's workers, and in no other program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = "import gc, pyspark_kraft; print(gc.get_freeze_count() > 10_000)"


@pytest.mark.parametrize(("runtime", "frozen"), [("PYTHON_WORKER", "True"), ("", "False")])
def test_imports_are_frozen_in_workers_alone(runtime: str, frozen: str) -> None:
    environment = os.environ | {"SPARK_PYTHON_RUNTIME": runtime}

    ended = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == frozen
