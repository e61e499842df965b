"""Averages, maxima and rates as Kafka's sensors compute them."""

from __future__ import annotations

from math import isnan

from raft.metrics.window import SAMPLE_MS, Window


def test_window_without_values_has_no_average_and_no_maximum() -> None:
    window = Window()

    assert isnan(window.average(0))
    assert isnan(window.maximum(0))
    assert window.rate_per_s(0) == 0


def test_window_has_average_and_maximum_of_its_values() -> None:
    window = Window()

    for value in (1, 5, 3):
        window.record(value, 1_000)

    assert (window.average(1_000), window.maximum(1_000)) == (3, 5)


def test_window_forgets_a_sample_after_a_minute() -> None:
    window = Window()

    window.record(100, 0)
    window.record(1, SAMPLE_MS)

    assert window.maximum(2 * SAMPLE_MS - 1) == 100
    assert window.maximum(2 * SAMPLE_MS) == 1
    assert isnan(window.maximum(3 * SAMPLE_MS))


def test_window_keeps_the_two_newest_samples() -> None:
    window = Window()

    for sample in range(4):
        window.record(10 - sample, sample * SAMPLE_MS)

    assert window.maximum(3 * SAMPLE_MS) == 8
    assert window.average(3 * SAMPLE_MS) == 7.5


def test_rate_of_a_first_value_counts_a_whole_sample_before_it() -> None:
    window = Window()

    window.record(60, 0)

    assert window.rate_per_s(0) == 2
    assert window.rate_per_s(SAMPLE_MS) == 2, "over the 30 s that have passed"
    assert window.rate_per_s(SAMPLE_MS * 3 // 2) == 60 / 45
