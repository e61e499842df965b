"""The end of the batches that fit within a size, against a model: the sizes of the batches in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import CorruptBatchError
from raft.storage.log import Log
from raft.storage.sizes import end_of_bytes
from raft.types import Batch, Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import FIRST_SEGMENT, batch, batches, open_log

pytestmark = pytest.mark.rule("CLIENT-15")

contents = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 300)), min_size=1, max_size=20)
"""Of each batch: how many records it has, and how many bytes the value of each."""


def log_of(content: list[tuple[int, int]], *, segment_bytes: int) -> tuple[Log, list[Batch]]:
    log = open_log(MemoryFiles(), segment_bytes=segment_bytes)
    written: list[Batch] = []
    for count, value_bytes in content:
        written.append(batch(log.end_offset, count=count, value=b"v" * value_bytes))
        log.append(written[-1:])
    return log, written


def counted(written: list[Batch], *, start: int, most: int, end: int) -> tuple[int, int]:
    """Where a count ends, batch by batch, and the bytes."""
    size_bytes = 0
    within = [each for each in written if each.header.end_offset > start and each.header.base_offset < end]
    for header in (each.header for each in within if start < end):
        if size_bytes and size_bytes + header.size_bytes > most:
            return header.base_offset, size_bytes
        size_bytes += header.size_bytes
    return end, size_bytes


@given(contents, st.sampled_from([1, 500, 1 << 20]), st.integers(1, 3_000), st.data())
def test_bytes_are_counted_from_any_offset(
    content: list[tuple[int, int]], segment_bytes: int, most: int, draws: st.DataObject
) -> None:
    log, written = log_of(content, segment_bytes=segment_bytes)
    start = draws.draw(st.integers(0, log.end_offset), label="start")
    end = draws.draw(st.integers(start, log.end_offset), label="end")

    found = end_of_bytes(log, start_offset=Offset(start), max_bytes=most, end_offset=Offset(end))

    assert found == counted(written, start=start, most=most, end=end)


@pytest.mark.parametrize("segment_bytes", [1, 1 << 20], ids=["a segment for each batch", "one segment"])
@pytest.mark.parametrize(
    ("start", "most", "end", "expected", "count"),
    [
        pytest.param(0, 1, 8, 2, 1, id="the first batch is larger than the limit"),
        pytest.param(0, 0, 8, 2, 1, id="a byte less than two batches"),
        pytest.param(0, 1 << 20, 8, 8, 4, id="all"),
        pytest.param(1, 1 << 20, 3, 3, 2, id="the bounds divide batches, which count as a whole"),
        pytest.param(1, 1, 3, 2, 1, id="the start divides the only batch"),
        pytest.param(4, 1, 5, 5, 1, id="the end divides the only batch"),
        pytest.param(4, 1 << 20, 4, 4, 0, id="nothing"),
    ],
)
def test_end_is_that_of_whole_batches_but_for_the_bounds(
    segment_bytes: int, start: int, most: int, end: int, expected: int, count: int
) -> None:
    log, written = log_of([(2, 10)] * 4, segment_bytes=segment_bytes)
    batch_bytes = written[0].header.size_bytes

    found = end_of_bytes(log, start_offset=Offset(start), max_bytes=most or 2 * batch_bytes - 1, end_offset=Offset(end))

    assert found == (expected, count * batch_bytes)


def test_empty_segment_at_the_end_of_the_log_does_not_count() -> None:
    log, written = log_of([(2, 10)] * 3, segment_bytes=1)
    log.truncate(Offset(4))

    found = end_of_bytes(log, start_offset=Offset(0), max_bytes=1 << 20, end_offset=Offset(4))

    assert found == (4, 2 * written[0].header.size_bytes)


def test_count_names_the_file_when_a_batch_is_damaged() -> None:
    files = MemoryFiles()
    log = open_log(files, tail_bytes=0)
    log.append(batches([1] * 3))
    # The length of the second batch becomes negative.
    files.flip_bit(FIRST_SEGMENT, batch(0).header.size_bytes + 8, bit=7)

    with pytest.raises(CorruptBatchError, match=f"{FIRST_SEGMENT} is damaged at byte"):
        end_of_bytes(log, start_offset=Offset(0), max_bytes=1_000, end_offset=Offset(3))
