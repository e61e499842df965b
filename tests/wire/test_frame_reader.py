"""Splitting a stream into frames."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.wire.frames import FrameReader
from tests.codec.strategies import MANY

MIB = 1 << 20


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big", signed=True) + content


@MANY
@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(0, 100)))
def test_reader_returns_the_same_frames_however_the_stream_is_split(contents: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(framed, contents))
    ends = [*sorted(cuts), len(stream)]
    reader = FrameReader(100)

    received: list[bytes] = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        received.extend(reader.receive(stream[start:end]))

    assert received == contents


def test_reader_has_the_announced_size_as_soon_as_it_is_received() -> None:
    reader = FrameReader(100)
    sizes = []

    for data in (b"\x00\x00\x00", b"\x05", b"abcd", b"e", framed(b"whole") + framed(bytes(7))[:-1]):
        list(reader.receive(data))
        sizes.append(reader.announced_bytes)

    assert sizes == [0, 5, 5, 0, 7]


def test_reader_takes_frames_up_to_its_limit() -> None:
    reader = FrameReader(5)

    assert list(reader.receive(framed(b"12345"))) == [b"12345"]


@pytest.mark.parametrize(
    "size", [pytest.param(-1, id="negative"), pytest.param(6, id="above the limit"), pytest.param(-(1 << 31), id="min")]
)
def test_reader_refuses_frame_by_its_size_alone(size: int) -> None:
    reader = FrameReader(5)

    with pytest.raises(DecodeError, match=f"a frame of {size} bytes, expected 0 to 5"):
        list(reader.receive(size.to_bytes(4, "big", signed=True)))


def test_reader_hands_out_the_frames_before_a_refused_one() -> None:
    reader = FrameReader(5)

    frames = reader.receive(framed(b"good") + framed(b"too large"))

    assert next(frames) == b"good"
    with pytest.raises(DecodeError):
        next(frames)


def test_reader_knows_when_the_stream_stops_inside_a_frame() -> None:
    reader = FrameReader(5)

    assert list(reader.receive(framed(b"whole") + framed(b"part")[:6])) == [b"whole"]
    assert reader.has_partial_frame
    assert list(reader.receive(framed(b"part")[6:])) == [b"part"]
    assert not reader.has_partial_frame


def test_reader_stays_broken_after_a_refusal() -> None:
    reader = FrameReader(5)
    with pytest.raises(DecodeError):
        list(reader.receive(framed(b"too large")))

    with pytest.raises(DecodeError):
        list(reader.receive(framed(b"good")))


def test_reader_needs_little_more_memory_than_a_large_frame() -> None:
    frame, chunk_bytes = framed(bytes(8 * MIB)), 64 << 10
    chunks = [frame[start : start + chunk_bytes] for start in range(0, len(frame), chunk_bytes)]
    reader = FrameReader(8 * MIB)

    tracemalloc.start()
    try:
        received = [content for chunk in chunks for content in reader.receive(chunk)]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert [len(content) for content in received] == [8 * MIB]
    assert peak_bytes < 3 * 8 * MIB
