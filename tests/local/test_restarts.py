"""When a voter that has ended is started again; by the test's own clock."""

from __future__ import annotations

import pytest

from raft.local.restarts import Restarts

A_BIT_S = 0.001


def test_voter_that_ends_at_once_is_started_ever_more_rarely() -> None:
    now_s = 0.0
    restarts = Restarts(now_s)
    assert restarts.is_due(now_s), "the first time at once"

    for pause_s in (0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0):
        restarts.started(now_s)

        assert not restarts.is_due(now_s + pause_s - A_BIT_S)
        now_s += pause_s + A_BIT_S
        assert restarts.is_due(now_s)


@pytest.mark.parametrize(("lived_s", "is_due"), [(9.9, False), (10.0, True)])
def test_voter_that_ran_for_long_is_started_again_at_once(lived_s: float, is_due: bool) -> None:
    restarts = Restarts(0)
    restarts.started(1)

    restarts.started(1 + lived_s)

    assert restarts.is_due(1 + lived_s) is is_due
