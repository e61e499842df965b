"""A pace: what may be used at once, and how long the pauses are."""

from __future__ import annotations

import pytest

from raft.runtime.pace import Pace


@pytest.mark.rule("QUOTA-2")
def test_pause_is_what_the_limit_gives_for_the_use_beyond_the_credit() -> None:
    pace = Pace(100, credit_s=10, now_s=0)

    pace.use(1_000, 0)
    at_the_limit = pace.pause_s(0)
    pace.use(250, 0)

    assert (at_the_limit, pace.pause_s(0), pace.pause_s(1), pace.pause_s(3)) == (0, 2.5, 1.5, 0)


def test_unused_time_counts_up_to_the_credit() -> None:
    pace = Pace(100, credit_s=10, now_s=0)
    pace.use(1_000, 0)

    after_a_part = pace.has_full_credit(9.9)
    pace.use(1_100, 3_600)

    assert not after_a_part
    assert pace.pause_s(3_600) == 1
    assert (pace.has_full_credit(3_610.9), pace.has_full_credit(3_611)) == (False, True)


def test_pause_has_a_largest_length() -> None:
    pace = Pace(1, credit_s=10, longest_pause_s=2, now_s=0)

    pace.use(1_000, 0)

    assert (pace.pause_s(0), pace.pause_s(1), pace.pause_s(2)) == (2, 1, 0)


def test_steady_use_at_the_limit_has_no_pause() -> None:
    pace = Pace(50, credit_s=1, now_s=0)

    for second in range(100):
        pace.use(50, second)

        assert pace.pause_s(second) == 0
