"""Spark's workers run a Python without the connector: Spark then reports that it does not find the source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.applications import Application
from tests.troubleshooting.messages import NOT_FOUND

pytestmark = pytest.mark.spark


def test_source_is_not_found_when_the_workers_run_a_python_without_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    environment = os.environ | {"PYSPARK_PYTHON": str(tmp_path / "bin" / "python")}

    with Application("tests.spark.bare_application", environment=environment) as application:
        said = application.line()
        assert application.wait() == 0
    assert NOT_FOUND in said
