"""The index of a snapshot leads to its records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.snapshots import SnapshotIndex, offset_index
from raft.types import BatchHeader, Epoch, Offset

Batches = list[tuple[int, int, int]]
"""Of each batch: how far it ends behind the one before, its size, and its largest timestamp."""

some_batches = st.lists(st.tuples(st.integers(1, 9), st.integers(61, 300), st.integers(-1, 50)), max_size=40)


def indexed(batches: Batches, *, interval: int) -> tuple[SnapshotIndex, list[tuple[int, int, int]]]:
    """Return an index, and position, last offset and timestamp of each batch."""
    index = SnapshotIndex(start_position=1_000)
    places, last_offset = [], 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offset_index, "INDEX_INTERVAL_BYTES", interval)
        for distance, size_bytes, timestamp_ms in batches:
            last_offset += distance
            places.append((index.end_position, last_offset, timestamp_ms))
            index.note(header(Offset(last_offset), size_bytes, timestamp_ms))
    return index, places


def header(offset: Offset, size_bytes: int, timestamp_ms: int) -> BatchHeader:
    return BatchHeader(
        base_offset=offset,
        last_offset=offset,
        epoch=Epoch(1),
        size_bytes=size_bytes,
        record_count=1,
        max_timestamp_ms=timestamp_ms,
    )


@given(some_batches, st.sampled_from([1, 200, 5_000]), st.integers(0, 400))
def test_index_leads_to_a_batch_at_or_before_the_one_that_is_wanted(
    batches: Batches, interval: int, wanted: int
) -> None:
    index, places = indexed(batches, interval=interval)
    read = SnapshotIndex.from_bytes(index.to_bytes(snapshot_bytes=9), snapshot_bytes=9)
    positions = [1_000, *(position for position, _, _ in places)]
    of_offset = next((position for position, last, _ in places if last >= wanted), index.end_position)
    of_time = next((position for position, _, time in places if time >= wanted % 50), index.end_position)

    for each in (index, read):
        assert each.position_before(Offset(wanted)) in positions
        assert each.position_before(Offset(wanted)) <= of_offset
        assert each.position_before_timestamp(wanted % 50) <= of_time
        assert each.position_up_to(1_000 + wanted) <= 1_000 + wanted
        largest = each.largest_before(Offset(wanted))
        assert largest is None or largest[0] <= max((time for _, last, time in places if last < wanted), default=-1)
        assert (each.is_empty, each.end_position) == (not batches, index.end_position)
        assert each.largest_timestamp_ms == max((time for _, _, time in places), default=-1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "incomplete", id="empty"),
        pytest.param(b"\0" * 60, "damaged", id="zeros"),
        pytest.param(indexed([(1, 70, 5)], interval=1)[0].to_bytes(snapshot_bytes=9)[:-1], "damaged", id="torn"),
        pytest.param(indexed([], interval=1)[0].to_bytes(snapshot_bytes=8), "for 8 bytes", id="of another snapshot"),
    ],
)
def test_index_that_is_damaged_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        SnapshotIndex.from_bytes(content, snapshot_bytes=9)
