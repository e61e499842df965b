"""Ratios and the bounds that they keep."""

from __future__ import annotations

import pytest

from benchmarks.contest import OURS, Better
from benchmarks.ratios import Spread, line_of
from tests.benchmarks.lines import PEER, STEP, comparison, line, samples


def test_ratio_is_that_of_the_same_round() -> None:
    measured = line(comparison(), samples([10, 30, 20], [10, 10, 40]))

    assert measured.ratio == Spread(median=1.0, low=0.5, high=3.0)
    assert (measured.ours.median, measured.peer.median) == (20, 10)


def test_line_without_a_baseline_has_no_change() -> None:
    measured = line(comparison(), samples([10], [20]))

    assert (measured.baseline_ratio, measured.change) == (None, None)


def test_baseline_is_compared_with_the_peer_and_with_ours() -> None:
    measured = line(comparison(), samples([10], [20], baseline=[5]))

    assert measured.baseline_ratio == Spread.of([0.25])
    assert measured.change == Spread.of([2.0])


def test_line_is_missing_when_the_peer_was_not_measured() -> None:
    measured = samples([10], [20])
    del measured[STEP][PEER]

    assert line_of(comparison(), measured) is None


def test_line_is_missing_when_no_step_was_measured() -> None:
    assert line_of(comparison(), {}) is None


def test_measure_that_was_not_reported_is_an_error() -> None:
    measured = samples([10], [20])
    measured[STEP][OURS] = {}

    with pytest.raises(KeyError):
        line_of(comparison(), measured)


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        pytest.param(9.0, "aim", id="above the aim"),
        pytest.param(8.0, "aim", id="just the aim"),
        pytest.param(7.0, "at least", id="below the aim"),
        pytest.param(5.0, "no", id="below both"),
    ],
)
def test_bound_of_a_rate_is_a_lower_one(ours: float, reached: str) -> None:
    measured = line(comparison(at_least=0.6, aim=0.8), samples([ours], [10]))

    assert measured.reached == reached


@pytest.mark.parametrize(
    ("ours", "reached"),
    [
        pytest.param(6.0, "aim", id="aim"),
        pytest.param(7.0, "at least", id="below"),
        pytest.param(9.0, "no", id="above"),
    ],
)
def test_bound_of_a_time_is_an_upper_one(ours: float, reached: str) -> None:
    measured = line(comparison(better=Better.LOWER, at_least=0.8, aim=0.6), samples([ours], [10]))

    assert measured.reached == reached


def test_line_without_bounds_reaches_nothing() -> None:
    assert line(comparison(), samples([1], [1])).reached == ""
