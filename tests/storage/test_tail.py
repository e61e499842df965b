import pytest

from raft.errors import DecodeError
from raft.records.header_fields import PLACE_BYTES, place_at
from raft.storage.spans import skip_to, take_until
from raft.storage.tail import Tail
from raft.types import Offset
from tests.storage.logs import batches

FOUR = batches([2, 1, 3, 1], start=10)
PIECES = [batch.payload for batch in FOUR]
ALL = b"".join(PIECES)
ENDS = [len(b"".join(PIECES[:count])) for count in range(5)]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        pytest.param(10, ENDS[0], id="first offset of the first"),
        pytest.param(11, ENDS[0], id="last offset of the first"),
        pytest.param(12, ENDS[1], id="the second"),
        pytest.param(14, ENDS[2], id="middle of the third"),
        pytest.param(17, ENDS[4], id="behind all"),
    ],
)
def test_skip_stops_at_the_batch_that_holds_the_offset(offset: int, expected: int) -> None:
    assert skip_to(ALL, Offset(offset)) == expected


def test_skip_stops_at_the_last_known_batch_when_the_bytes_end() -> None:
    for length in range(len(ALL)):
        position = skip_to(ALL[:length], Offset(16))

        assert position + PLACE_BYTES > length or position == ENDS[3]
        assert position in ENDS


@pytest.mark.parametrize(
    ("max_bytes", "end", "expected"),
    [
        pytest.param(10_000, 99, ENDS[4], id="everything"),
        pytest.param(ENDS[2], 99, ENDS[2], id="exactly two"),
        pytest.param(ENDS[2] - 1, 99, ENDS[1], id="a byte less than two"),
        pytest.param(10_000, 16, ENDS[3], id="up to an end"),
        pytest.param(10_000, 15, ENDS[2], id="up to the middle of a batch"),
        pytest.param(10, 99, 0, id="less than one"),
    ],
)
def test_take_stops_within_all_bounds(max_bytes: int, end: int, expected: int) -> None:
    assert take_until(ALL, 0, max_bytes=max_bytes, end_offset=Offset(end)) == expected


def test_take_stops_before_a_batch_that_is_incomplete() -> None:
    for length in range(len(ALL)):
        taken = take_until(ALL[:length], 0, max_bytes=10_000, end_offset=Offset(99))

        assert taken == max(end for end in ENDS if end <= length)


@pytest.mark.parametrize("length", [-100, -12, 0, 48])
def test_batch_is_refused_when_its_length_would_make_the_loop_endless(length: int) -> None:
    damaged = ALL[:8] + length.to_bytes(4, "big", signed=True) + ALL[12:]

    for walk in (
        lambda: place_at(damaged, 0),
        lambda: skip_to(damaged, Offset(99)),
        lambda: take_until(damaged, 0, max_bytes=10_000, end_offset=Offset(99)),
    ):
        with pytest.raises(DecodeError, match=f"batch of {length + 12} bytes"):
            walk()


def full_tail(max_bytes: int = 10_000) -> Tail:
    tail = Tail(max_bytes)
    tail.append(Offset(10), PIECES[0] + PIECES[1])
    tail.append(Offset(13), PIECES[2])
    tail.append(Offset(16), PIECES[3])
    return tail


def read(tail: Tail, start: int, *, max_bytes: int = 10_000, end: int = 17) -> bytes | None:
    return tail.read(Offset(start), max_bytes=max_bytes, end_offset=Offset(end))


@pytest.mark.parametrize(("start", "first"), [(10, 0), (11, 0), (12, 1), (13, 2), (14, 2), (15, 2), (16, 3)], ids=str)
def test_tail_returns_all_from_the_batch_that_holds_the_offset(start: int, first: int) -> None:
    assert read(full_tail(), start) == b"".join(PIECES[first:])


def test_tail_returns_one_batch_when_it_is_larger_than_max_bytes() -> None:
    assert read(full_tail(), 13, max_bytes=1) == PIECES[2]


def test_tail_returns_nothing_when_the_batch_reaches_beyond_the_end() -> None:
    assert read(full_tail(), 13, end=15) == b""


def test_tail_returns_as_much_as_fits_when_bounded() -> None:
    assert read(full_tail(), 12, max_bytes=len(PIECES[1] + PIECES[2])) == PIECES[1] + PIECES[2]
    assert read(full_tail(), 10, end=16) == b"".join(PIECES[:3])


def test_tail_returns_none_for_what_it_never_had() -> None:
    assert read(Tail(1000), 10) is None
    assert read(full_tail(), 9) is None


def test_tail_forgets_the_oldest_when_full() -> None:
    tail = Tail(len(ALL))
    tail.append(Offset(10), ALL)
    assert read(tail, 10) == ALL

    tail.append(Offset(17), batches([1], start=17)[0].payload)

    assert read(tail, 10) is None
    assert read(tail, 17, end=18) == batches([1], start=17)[0].payload


def test_tail_keeps_nothing_when_one_piece_is_too_large_and_continues_after_it() -> None:
    tail = Tail(100)
    tail.append(Offset(10), ALL)
    assert read(tail, 10) is None

    following = batches([1], start=17)[0].payload
    tail.append(Offset(17), following)

    assert read(tail, 16) is None
    assert read(tail, 17, end=18) == following


@pytest.mark.parametrize(("end", "left"), [(16, 3), (13, 2), (12, 1), (10, 0)], ids=str)
def test_tail_ends_at_the_truncation_also_within_a_piece(end: int, left: int) -> None:
    tail = full_tail()

    tail.truncate(Offset(end))

    assert (read(tail, 10, end=end) or b"") == b"".join(PIECES[:left])
    appended = batches([2], start=end, epoch=2)[0].payload
    tail.append(Offset(end), appended)
    assert read(tail, end, end=end + 2) == appended
