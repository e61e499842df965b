"""Lists of transactions: how often long ones are made."""

from __future__ import annotations

import pytest

from raft.runtime.list_pace import ENTRIES_PER_S, ListPace


@pytest.mark.parametrize(
    ("entries", "after_ms", "is_allowed"),
    [
        pytest.param(2 * ENTRIES_PER_S, 1_999, False, id="a long list, too soon"),
        pytest.param(2 * ENTRIES_PER_S, 2_000, True, id="a long list, in time"),
        pytest.param(10, 0, True, id="a short list"),
    ],
)
def test_next_list_waits_for_as_long_as_the_last_one_was(entries: int, after_ms: int, is_allowed: bool) -> None:
    pace = ListPace()

    assert pace.allows(entries, 1_000)
    assert pace.allows(0, 1_000 + after_ms) == is_allowed


def test_refused_list_delays_no_other() -> None:
    pace = ListPace()
    pace.allows(ENTRIES_PER_S, 0)

    assert not pace.allows(ENTRIES_PER_S, 999)
    assert pace.allows(0, 1_000)
