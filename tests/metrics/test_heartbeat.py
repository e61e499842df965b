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

    assert clocks.lags == pytest.approx([0, 0, 0, 0])
    assert clocks.heartbeat.idle_ratio() == 1
    assert clocks.heartbeat.age_s == 0


def test_heartbeat_measures_how_late_a_beat_is() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    clocks.late_s = 0.5
    clocks.run(BEAT_MS)

    assert clocks.lags == [pytest.approx(0.5)]


@pytest.mark.rule("SHARE-7")
def test_longest_step_of_the_last_minute_is_known_by_elapsed_and_by_processor_time() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    for late_s, used_s in ((0.5, 0.1), (0.2, 0.2), (0.0, 0.01)):
        clocks.late_s += late_s
        clocks.processor_s += used_s
        clocks.run(BEAT_MS)

    assert clocks.heartbeat.longest_steps_s() == {"elapsed": pytest.approx(0.5), "processor": pytest.approx(0.2)}


@pytest.mark.rule("SHARE-7")
def test_processor_time_of_many_short_steps_is_no_long_step() -> None:
    clocks = Clocks()
    clocks.heartbeat.start()

    clocks.processor_s += BEAT_MS / 1000
    clocks.late_s += 0.002
    clocks.run(BEAT_MS)

    assert clocks.heartbeat.longest_steps_s()["processor"] == pytest.approx(0.002)


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
