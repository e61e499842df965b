import pytest

from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.batches import read_batches, read_good_prefix, read_headers
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch, Epoch, Offset
from tests.records.samples import with_field

FIRST = build_batch([Record(value=b"a"), Record(value=b"b")], base_offset=Offset(10), epoch=Epoch(1))
SECOND = build_batch([Record(value=b"c")], base_offset=Offset(12), epoch=Epoch(1))
THIRD = build_batch([Record(value=b"d")] * 3, base_offset=Offset(13), epoch=Epoch(2))
ALL = FIRST + SECOND + THIRD


def as_batch(payload: bytes) -> Batch:
    return Batch(header=read_header(payload), payload=payload)


def test_split_returns_batches_in_order_when_all_are_whole() -> None:
    assert list(read_batches(ALL)) == [as_batch(FIRST), as_batch(SECOND), as_batch(THIRD)]


@pytest.mark.parametrize("data", [pytest.param(b"", id="nothing"), pytest.param(FIRST[:40], id="less than a batch")])
def test_split_returns_nothing_when_no_batch_is_whole(data: bytes) -> None:
    assert list(read_batches(data)) == []


def test_split_ends_without_an_error_when_truncated_at_every_byte() -> None:
    ends = [0, len(FIRST), len(FIRST) + len(SECOND), len(ALL)]

    for length in range(len(ALL)):
        whole = sum(1 for end in ends[1:] if end <= length)

        assert len(list(read_batches(ALL[:length]))) == whole


def test_split_refuses_everything_when_one_batch_is_damaged() -> None:
    damaged = bytearray(ALL)
    damaged[len(FIRST) + 30] ^= 1

    with pytest.raises(DecodeError, match="checksum"):
        list(read_batches(bytes(damaged)))


def test_split_refuses_older_magic_when_a_client_sends_it() -> None:
    with pytest.raises(DecodeError, match="magic 0"):
        list(read_batches(with_field(FIRST, 16, ">b", 0)))


def test_split_accepts_a_batch_with_more_offsets_than_records_as_compaction_leaves_it() -> None:
    sparse = with_field(FIRST, 23, ">i", 5)

    (batch,) = read_batches(sparse)
    assert batch.header.end_offset == 16


@pytest.mark.rule("FETCH-24")
def test_good_prefix_ends_before_the_first_damaged_batch() -> None:
    damaged = bytearray(ALL)
    damaged[len(FIRST) + 30] ^= 1

    prefix = read_good_prefix(bytes(damaged))

    assert prefix.batches == (as_batch(FIRST),)
    assert "checksum" in str(prefix.damage)


@pytest.mark.rule("FETCH-24")
def test_good_prefix_ends_before_a_gap() -> None:
    prefix = read_good_prefix(FIRST + THIRD)

    assert prefix.batches == (as_batch(FIRST),)
    assert "offset 13, expected 12" in str(prefix.damage)


def test_good_prefix_is_everything_when_nothing_is_wrong() -> None:
    prefix = read_good_prefix(ALL + FIRST[:50])

    assert len(prefix.batches) == 3
    assert prefix.damage is None


def test_reader_verifies_the_checksum_before_it_uses_a_header() -> None:
    # The last offset delta is wrong too, but it must not be used.
    damaged = bytearray(FIRST)
    damaged[23] ^= 0x80

    with pytest.raises(DecodeError, match="checksum"):
        next(read_headers(bytes(damaged)))
