"""Voters end with the Spark application, however it ends."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.spark.applications import Application

pytestmark = pytest.mark.spark

LIMIT_S = 15


def voters_of(application: Application) -> list[psutil.Process]:
    """The voters of the quorum that the application has started just now."""
    voters = [psutil.Process(int(pid)) for pid in application.line().split()]
    assert voters
    assert all(voter.is_running() for voter in voters)
    return voters


def are_gone(voters: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(voters, timeout=LIMIT_S)
    return not alive


def test_no_voter_is_left_when_the_session_is_stopped_and_when_the_driver_is_killed(tmp_path: Path) -> None:
    application = Application("tests.kraft_spark.application", tmp_path, "stop")

    # The session is stopped; the program goes on, and with another session it has another quorum.
    assert are_gone(voters_of(application))
    others = voters_of(application)
    application.process.kill()

    assert are_gone(others)
    application.wait()


def test_no_voter_is_left_when_the_program_ends(tmp_path: Path) -> None:
    application = Application("tests.kraft_spark.application", tmp_path, "exit")

    voters = voters_of(application)

    assert application.wait() == 0
    assert are_gone(voters)


def test_no_voter_is_left_when_the_driver_is_asked_to_end(tmp_path: Path) -> None:
    application = Application("tests.kraft_spark.application", tmp_path, "wait")

    voters = voters_of(application)
    application.process.terminate()

    assert are_gone(voters)
    application.wait()
