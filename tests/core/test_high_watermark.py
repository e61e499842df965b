"""The high watermark of a leader, against a second, as simple as possible version (rules HW-1..3)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.core.commits import next_high_watermark
from raft.types import Offset

offsets = st.lists(st.none() | st.integers(0, 12).map(Offset), min_size=1, max_size=7)


def offset_of_majority(durable: Sequence[Offset | None]) -> int:
    """The largest offset such that more than half of the voters have everything below it; -1 for none."""
    reached = [
        offset
        for offset in range(13)
        if sum(1 for has in durable if has is not None and has >= offset) > len(durable) / 2
    ]
    return max(reached, default=-1)


@given(offsets, st.integers(0, 12).map(Offset), st.none() | st.integers(0, 12).map(Offset))
@pytest.mark.rule("HW-1", "HW-2", "HW-3")
def test_high_watermark_agrees_with_trying_every_offset(
    durable: list[Offset | None], epoch_start_offset: Offset, before: Offset | None
) -> None:
    after = next_high_watermark(durable, epoch_start_offset=epoch_start_offset, high_watermark=before)

    reached = offset_of_majority(durable)
    if reached > epoch_start_offset and (before is None or reached > before):
        assert after == reached
    else:
        assert after == before


@pytest.mark.parametrize(
    ("durable", "before", "after"),
    [
        pytest.param([11], None, 11, marks=pytest.mark.rule("HW-7"), id="one voter: its own disk"),
        pytest.param([11, 10], None, None, id="two voters need both"),
        pytest.param([11, 11, None], None, 11, id="two of three, the third unknown"),
        pytest.param([11, None, None], None, None, id="one of three"),
        pytest.param([15, 11, 12, 13], None, 12, id="the third of four"),
        pytest.param([10, 10, 10], None, None, marks=pytest.mark.rule("HW-2"), id="exactly the start of the epoch"),
        pytest.param([14, 12, 12], 13, 13, marks=pytest.mark.rule("HW-3"), id="never down"),
    ],
)
@pytest.mark.rule("HW-1")
def test_high_watermark_of_a_leader_whose_epoch_starts_at_10(
    durable: list[int | None], before: int | None, after: int | None
) -> None:
    found = next_high_watermark(
        [None if offset is None else Offset(offset) for offset in durable],
        epoch_start_offset=Offset(10),
        high_watermark=None if before is None else Offset(before),
    )

    assert found == after
