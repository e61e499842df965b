"""The search for a whole batch at any byte (rule LOG-19)."""

from __future__ import annotations

import struct

import pytest

from raft.storage.batch_search import BatchSearch, FoundBatch
from raft.types import Offset
from tests.storage.logs import batch

WINDOW_BYTES = 4 << 20
NEXT = batch(7, value=b"x" * 200).payload


def search(data: bytes, position: int = 0, *, min_offset: int = 5) -> FoundBatch | None:
    def read(start: int, size_bytes: int) -> bytes:
        return data[start : start + size_bytes]

    return BatchSearch(min_offset=Offset(min_offset)).find(read, position, len(data))


@pytest.mark.parametrize("before", [0, 1, 17, 4096])
@pytest.mark.parametrize("filler", [b"\x00", b"\x02", b"\xff", NEXT[:20]])
@pytest.mark.rule("LOG-19")
def test_batch_is_found_at_any_byte(before: int, filler: bytes) -> None:
    data = (filler * before)[:before] + NEXT

    assert search(data) == FoundBatch(position=before, base_offset=Offset(7))


@pytest.mark.parametrize("shift", [-200, -61, -60, -30, -1, 0, 1])
def test_batch_is_found_across_the_border_of_what_is_read_at_once(shift: int) -> None:
    before = WINDOW_BYTES + shift

    assert search(bytes(before) + NEXT + bytes(100)) == FoundBatch(position=before, base_offset=Offset(7))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(bytes(5000), id="zeros"),
        pytest.param(NEXT[:-1], id="incomplete"),
        pytest.param(NEXT[:-1] + b"?", id="another byte"),
        pytest.param(batch(4).payload, id="lower offset"),
        pytest.param(batch(5 + (1 << 32)).payload, id="offset that no segment reaches"),
    ],
)
def test_nothing_is_found_where_no_whole_batch_is(data: bytes) -> None:
    assert search(data) is None


def test_batch_is_found_when_the_upper_half_of_its_offset_differs() -> None:
    low = (1 << 32) - 3
    data = b"?" + batch(1 << 32).payload

    assert search(data, min_offset=low) == FoundBatch(position=1, base_offset=Offset(1 << 32))


@pytest.mark.parametrize("left_bytes", [0, 1, 60, WINDOW_BYTES, WINDOW_BYTES + 10])
def test_search_ends_when_the_segment_is_shorter_than_it_was(left_bytes: int) -> None:
    data = bytes(left_bytes)

    def read(start: int, size_bytes: int) -> bytes:
        return data[start : start + size_bytes]

    found = BatchSearch(min_offset=Offset(5)).find(read, 0, 3 * WINDOW_BYTES)

    assert found is None


def test_search_ends_when_there_are_plausible_headers_everywhere() -> None:
    # 60 headers, each of which claims the 64 MiB after it: all of their checksums would be 4 GiB.
    size_bytes = 64 << 20
    header = struct.pack(">qiib", 7, size_bytes - 12 - 4096, 1, 2)
    data = header * 60 + bytes(size_bytes)
    read_bytes = 0

    def read(start: int, wanted_bytes: int) -> bytes:
        nonlocal read_bytes
        read_bytes += wanted_bytes
        return data[start : start + wanted_bytes]

    found = BatchSearch(min_offset=Offset(7)).find(read, 0, len(data))

    assert found is None
    assert read_bytes <= (1 << 30) + WINDOW_BYTES
