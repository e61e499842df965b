"""Where the whole batches of a read end, when the last one is cut at any byte."""

from __future__ import annotations

import pytest

from raft.errors import DecodeError
from raft.storage.spans import end_offset_of
from tests.records.samples import with_field
from tests.storage.logs import batch

TWO = [batch(5, count=3), batch(8, count=2)]


def test_end_offset_is_that_of_the_last_whole_batch() -> None:
    first, second = (each.payload for each in TWO)

    found = [end_offset_of((first + second)[:size_bytes]) for size_bytes in range(len(first + second) + 1)]

    assert found == [0] * len(first) + [8] * len(second) + [10]


def test_end_offset_is_refused_when_a_length_is_impossible() -> None:
    first, second = (each.payload for each in TWO)

    with pytest.raises(DecodeError, match="batch of 60 bytes"):
        end_offset_of(first + with_field(second, 8, ">i", 48))
