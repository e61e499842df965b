"""Installing the programs that the tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from tests.java.class_archive import write_class_archive
from tests.java.kafka import Kafka

_FETCH = Path(__file__).parents[2] / "scripts" / "kafka" / "fetch.sh"


def installed_kafka() -> Kafka:
    """Return Kafka's programs; their jars are fetched at the first use. Skips the test if that fails."""
    jars = _fetched("programs")
    class_archive = jars / "classes.jsa"
    if not class_archive.exists():
        write_class_archive(Kafka(jars), class_archive)
    return Kafka(jars, class_archive)


def installed_connector() -> list[Path]:
    """Return the jars of Spark's source and sink for Kafka, like Kafka's programs."""
    return sorted(_fetched("connector").glob("*.jar"))


def _fetched(what: str) -> Path:
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing:
        _do_without(f"Apache Kafka's programs need {' and '.join(missing)}, which are not installed")
    fetched = subprocess.run([_FETCH, what], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.fail(f"cannot fetch the jars of Apache Kafka's {what}: {fetched.stderr}")
    return Path(fetched.stdout.strip())


def _do_without(reason: str) -> NoReturn:
    """Skip the test; in CI, fail it, because a skipped test would not be noticed there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
