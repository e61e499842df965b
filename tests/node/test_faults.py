"""Faults are told once in a while, and counted meanwhile."""

from __future__ import annotations

import logging

import pytest

from raft.node import faults
from raft.node.faults import FaultLog

LOGGER = logging.getLogger("tests.faults")


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(faults, "time", clock)
    return clock


def test_same_fault_is_told_again_after_ten_seconds_with_its_count(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log = FaultLog(LOGGER)

    for _ in range(4):
        log.report("node %s refuses", 3)
    log.report("node %s refuses", 4)
    clock.now_s += 10
    log.report("node %s refuses", 3)
    clock.now_s += 10
    log.report("node %s refuses", 3)

    assert caplog.messages == [
        "node 3 refuses",
        "node 4 refuses",
        "node 3 refuses (3 times more since)",
        "node 3 refuses",
    ]


def test_faults_that_are_never_the_same_are_not_all_remembered(clock: Clock) -> None:
    log = FaultLog(LOGGER)

    for number in range(2_500):
        log.report("fault %s", number)

    assert len(log._last_told) <= 1_000
