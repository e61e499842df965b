"""A quorum that several parts of a program use: when it stops."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_spark import QuorumService
from kraft_spark.running_quorum import RunningQuorum
from raft.errors import QuorumUnavailableError
from raft.local import LocalQuorum
from tests.local.conftest import QUICK


class Stops:
    """The quorums that were reported as stopped."""

    def __init__(self) -> None:
        self.reported: list[RunningQuorum] = []


@pytest.fixture
def stops() -> Stops:
    return Stops()


@pytest.fixture
def running(tmp_path: Path, stops: Stops) -> Iterator[RunningQuorum]:
    """One voter; the application does not end."""
    local = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)
    running = RunningQuorum(local, lambda: False, stops.reported.append)
    yield running
    running.stop()


def test_quorum_stops_with_its_last_user(running: RunningQuorum, stops: Stops) -> None:
    with QuorumService(running) as outer:
        with QuorumService(running) as inner:
            pids = inner.pids
        assert outer.pids == pids, "the outer one still uses it"
        assert outer.leader_id() == 1
        assert stops.reported == []

    assert outer.pids == {}
    assert stops.reported == [running]


def test_two_stops_of_one_user_count_once(
    running: RunningQuorum, stops: Stops, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kraft_spark.running_quorum")
    first, second = QuorumService(running), QuorumService(running)

    first.stop()
    first.stop()

    assert second.pids
    assert stops.reported == []
    runs_on = f"the quorum of {running.quorum.data_dir} runs on for other users in this process: 1"
    assert caplog.messages == [runs_on] * 2

    second.stop()
    second.stop()

    assert second.pids == {}
    assert stops.reported == [running], "once"


def test_user_that_the_program_has_dropped_does_not_count(running: RunningQuorum) -> None:
    # As in a notebook whose cell is run again.
    service = QuorumService(running)
    service = QuorumService(running)
    gc.collect()

    service.stop()

    assert running.is_stopped


def test_stopped_quorum_has_no_new_users(running: RunningQuorum) -> None:
    running.stop()

    assert not running.join(object())
    assert not running.is_usable()


def test_application_that_ends_stops_the_quorum_for_all_users(tmp_path: Path) -> None:
    is_over, stopped = threading.Event(), threading.Event()
    local = LocalQuorum.start(tmp_path, voters=1, settings=QUICK)
    running = RunningQuorum(local, is_over.is_set, lambda _stopped: stopped.set())
    users = [QuorumService(running), QuorumService(running)]

    is_over.set()

    assert stopped.wait(60)
    assert [user.pids for user in users] == [{}, {}]


def test_leader_of_a_stopped_quorum_is_not_waited_for(running: RunningQuorum) -> None:
    service = QuorumService(running)
    service.stop()

    with pytest.raises(QuorumUnavailableError) as refusal:
        service.leader_id()

    assert str(refusal.value) == f"this process has stopped the quorum of {running.quorum.data_dir}"
