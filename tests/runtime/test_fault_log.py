"""Repeated faults are logged at intervals, and counted meanwhile."""

from __future__ import annotations

import logging

import pytest

from raft.runtime.fault_log import FaultLog

LOGGER = logging.getLogger("tests.faults")


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.time_ms = 1000

    def now_ms(self) -> int:
        return self.time_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_same_fault_is_logged_again_after_ten_seconds_with_its_count(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log = FaultLog(LOGGER, clock.now_ms)

    for _ in range(4):
        log.report("node %s refuses", 3)
    log.report("node %s refuses", 4)
    clock.time_ms += 10_000
    log.report("node %s refuses", 3)
    clock.time_ms += 10_000
    log.report("node %s refuses", 3)

    assert caplog.messages == [
        "node 3 refuses",
        "node 4 refuses",
        "node 3 refuses (suppressed 3 repetitions)",
        "node 3 refuses",
    ]


def test_faults_that_are_never_the_same_are_not_all_remembered(clock: Clock) -> None:
    log = FaultLog(LOGGER, clock.now_ms)

    for number in range(2_500):
        log.report("fault %s", number)

    assert len(log._last_logged) <= 1_000


def test_faults_that_were_left_out_are_counted_before_the_next_line(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log = FaultLog(LOGGER, clock.now_ms)
    for number in range(103):
        log.report("fault %s", number)
    logged_at_first = len(caplog.messages)
    clock.time_ms += 10_000

    log.report("another fault")

    assert logged_at_first == 100
    assert caplog.messages[100:] == ["suppressed other faults: count=3", "another fault"]


def test_fault_is_logged_as_soon_as_the_oldest_of_a_hundred_is_forgotten(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log = FaultLog(LOGGER, clock.now_ms)
    for number in range(100):
        log.report("fault %s", number)
        clock.time_ms += 10
    log.report("too early")
    clock.time_ms += 8_999
    log.report("too early by a millisecond")
    clock.time_ms += 1

    log.report("in time")
    log.report("too early again")

    assert caplog.messages[100:] == ["suppressed other faults: count=2", "in time"]


@pytest.mark.rule("AUTH-12")
def test_names_that_a_client_has_chosen_do_not_forge_lines(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    log = FaultLog(LOGGER, clock.now_ms)

    log.report("no rule matches %s", "CN=a\nforged line\x1b[2J", latest="address=\r\u202e")

    assert caplog.messages == ["no rule matches CN=a\\nforged line\\x1b[2J; address=\\r\\u202e"]
