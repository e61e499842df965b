"""In an outage, a stream says in its console what it waits for, and when that has come."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.local import LocalQuorum
from tests.node.harness.waiting import eventually
from tests.spark.applications import Application

pytestmark = pytest.mark.spark

WAITS = re.compile(
    r"^no leader of the quorum has responded for \S+ s; waiting for at most \S+ s more "
    r"\(kraft\.default\.api\.timeout\.ms=60000\): 127\.0\.0\.1:\d+: no response",
    re.MULTILINE,
)
GOES_ON = re.compile(r"^a leader of the quorum has responded after \S+ s$", re.MULTILINE)


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[LocalQuorum]:
    """A quorum of one voter, without the shared session: an application of its own reads it."""
    with LocalQuorum.start(tmp_path / "quorum", voters=1) as quorum:
        yield quorum


def test_stream_says_what_it_waits_for(quorum: LocalQuorum, tmp_path: Path) -> None:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "KRAFT_CONFIG": str(quorum.client_config)}
    (pid,) = quorum.pids.values()
    arguments = (quorum.bootstrap_servers, tmp_path / "checkpoint")

    with Application("tests.spark.outage_application", *arguments, environment=environment) as application:
        assert application.line() == "reads"
        os.kill(pid, signal.SIGSTOP)
        try:
            eventually(lambda: WAITS.search(application.errors) is not None, "it says that it waits")
        finally:
            os.kill(pid, signal.SIGCONT)
        eventually(lambda: GOES_ON.search(application.errors) is not None, "it says that it goes on")
        application.close_input()
        assert application.line() == "active"
        assert application.wait() == 0
        assert "Traceback" not in application.errors
