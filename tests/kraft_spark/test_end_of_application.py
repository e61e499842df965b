"""Voters end with the Spark application, however it ends."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest

from tests.processes.endings import has_ended, wait_for_ends
from tests.spark.applications import Application

pytestmark = pytest.mark.spark


def voters_of(application: Application) -> list[psutil.Process]:
    """The voters of the quorum that the application has started just now."""
    voters = [psutil.Process(int(pid)) for pid in application.line().split()]
    assert voters, application.errors
    assert not any(map(has_ended, voters))
    return voters


def test_no_voter_is_left_when_the_session_is_stopped_and_when_the_driver_is_killed(tmp_path: Path) -> None:
    with Application("tests.kraft_spark.application", tmp_path, "stop") as application:
        # The session is stopped; the program continues, and with another session it has another quorum.
        wait_for_ends(voters_of(application))
        others = voters_of(application)
        application.signal(signal.SIGKILL)

        wait_for_ends(others)


def test_no_voter_is_left_when_the_program_ends(tmp_path: Path) -> None:
    with Application("tests.kraft_spark.application", tmp_path, "stay") as application:
        voters = voters_of(application)
        application.signal(signal.SIGUSR1)

        assert application.wait() == 0
        wait_for_ends(voters)


def test_no_voter_is_left_when_the_driver_is_terminated(tmp_path: Path) -> None:
    with Application("tests.kraft_spark.application", tmp_path, "stay") as application:
        voters = voters_of(application)
        application.signal(signal.SIGTERM)

        wait_for_ends(voters)
        application.wait()
