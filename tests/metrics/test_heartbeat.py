"""Whether the event loop turns, how late, and how idle."""

from __future__ import annotations

from math import isnan

import pytest

from raft.metrics.heartbeat import BEAT_MS, Heartbeat
from tests.runtime.one_voter import ManualScheduler


class Clocks:
    """The clocks of a thread whose event loop runs when the test says so."""

    def __init__(self) -> None:
        self.scheduler = ManualScheduler()
        self.late_s = 0.0
        self.processor_s = 0.0
        self.lags: list[float] = []
        self.heartbeat = Heartbeat(
            self.scheduler,
            clock_s=lambda: self.scheduler.now_ms() / 1000 + self.late_s,
            processor_s=lambda: self.processor_s,
            on_lag=self.lags.append,
        )

    def run(self, duration_ms: int) -> None:
        self.scheduler.run(until_ms=self.scheduler.now_ms() + duration_ms, between=lambda: None)


def test_heartbeat_of_a_free_loop_is_never_late() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    clocks.run(4 * BEAT_MS)

    assert clocks.lags == [0, 0, 0, 0]
    assert clocks.heartbeat.idle_ratio() == 1
    assert clocks.heartbeat.age_s == 0


def test_heartbeat_measures_how_late_a_beat_is() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    clocks.late_s = 0.5
    clocks.run(BEAT_MS)

    assert clocks.lags == [pytest.approx(0.5)]


def test_idle_ratio_is_what_the_processor_leaves() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    clocks.processor_s = BEAT_MS / 1000 / 4
    clocks.run(BEAT_MS)

    assert clocks.heartbeat.idle_ratio() == pytest.approx(0.75)


def test_age_grows_while_the_loop_does_not_turn() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    clocks.late_s = 7.0

    assert clocks.heartbeat.age_s == 7


def test_stopped_heartbeat_beats_no_more() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()
    clocks.heartbeat.stop()

    clocks.run(4 * BEAT_MS)

    assert clocks.lags == []
    assert isnan(clocks.heartbeat.idle_ratio())


def test_heartbeat_that_never_started_can_be_stopped() -> None:
    clocks = Clocks()

    clocks.heartbeat.stop()

    assert clocks.lags == []
