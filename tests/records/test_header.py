import struct

import pytest

from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.header import read_header
from raft.records.header_fields import HEADER, batch_size_bytes, check_crc, with_base_offset_and_epoch
from raft.records.record import Record
from raft.types import BatchHeader, Epoch, Offset
from tests.records.samples import RICH, with_field

BATCH = build_batch(
    RICH,
    base_offset=Offset(500),
    epoch=Epoch(7),
    producer_id=2**62 + 5,
    producer_epoch=3,
    base_sequence=9,
    is_transactional=True,
)

CONTENT_CHECKSUM = 13253816696267566153
"""The checksum of these records. It must never change: nodes store it, and compare it with those of other versions."""


@pytest.mark.rule("LOG-1", "LOG-2")
def test_header_says_what_the_batch_was_built_with() -> None:
    assert read_header(BATCH) == BatchHeader(
        base_offset=Offset(500),
        last_offset=Offset(503),
        epoch=Epoch(7),
        size_bytes=len(BATCH),
        record_count=4,
        max_timestamp_ms=1_700_000_005_000,
        producer_id=2**62 + 5,
        producer_epoch=3,
        base_sequence=9,
        is_transactional=True,
        content_checksum=CONTENT_CHECKSUM,
    )


def test_header_has_none_for_the_producer_when_there_is_none() -> None:
    header = read_header(build_batch([Record(value=b"v")]))

    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (None, -1, -1)
    assert header.max_timestamp_ms == -1
    assert not header.is_transactional
    assert not header.is_control


def test_header_is_read_at_its_position_when_other_bytes_surround_it() -> None:
    header = read_header(b"abc" + BATCH + b"def", 3)

    assert header == read_header(BATCH)


@pytest.mark.parametrize("length", range(len(BATCH) - 1, -1, -977))
def test_header_is_refused_when_the_batch_is_incomplete(length: int) -> None:
    with pytest.raises(DecodeError, match="is incomplete"):
        read_header(BATCH[:length])


@pytest.mark.parametrize(
    ("position", "form", "value", "reason"),
    [
        pytest.param(16, ">b", 1, "magic 1", id="older magic"),
        pytest.param(16, ">b", 3, "magic 3", id="newer magic"),
        pytest.param(8, ">i", 48, "60 bytes", id="smaller than a header"),
        pytest.param(8, ">i", -1, "11 bytes", id="negative length"),
        pytest.param(0, ">q", -1, "base offset -1", id="negative base offset"),
        pytest.param(0, ">q", 2**63 - 3, "base offset", id="end offset past int64"),
        pytest.param(23, ">i", -1, "last offset delta -1", id="negative last offset delta"),
        pytest.param(57, ">i", -1, "record count -1", id="negative record count"),
    ],
)
@pytest.mark.rule("LOG-1")
def test_header_is_refused_when_a_number_is_impossible(position: int, form: str, value: int, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        read_header(with_field(BATCH, position, form, value))


@pytest.mark.parametrize("length", range(17))
def test_size_is_unknown_or_right_when_the_batch_is_incomplete(length: int) -> None:
    assert batch_size_bytes(BATCH[:length]) == (None if length < 12 else len(BATCH))


@pytest.mark.rule("LOG-2")
def test_checksum_detects_each_flipped_bit_that_it_covers() -> None:
    small = build_batch([Record(value=b"v")])

    for position in range(21, len(small)):
        for bit in range(8):
            damaged = bytearray(small)
            damaged[position] ^= 1 << bit
            with pytest.raises(DecodeError, match="checksum"):
                check_crc(bytes(damaged), 0, len(small))


@pytest.mark.rule("LOG-2")
def test_batch_keeps_its_checksum_when_it_gets_its_place() -> None:
    placed = with_base_offset_and_epoch(BATCH, Offset(2**40), Epoch(12))

    check_crc(placed, 0, len(placed))
    header = read_header(placed)
    assert (header.base_offset, header.epoch) == (2**40, 12)
    assert placed[8:12] + placed[16:] == BATCH[8:12] + BATCH[16:]


def test_batch_is_not_copied_when_it_has_its_place_already() -> None:
    assert with_base_offset_and_epoch(BATCH, Offset(500), Epoch(7)) is BATCH


def test_header_has_61_bytes() -> None:
    assert HEADER.size == 61
    assert struct.unpack_from(">i", BATCH, 8)[0] == len(BATCH) - 12


def keyed(compression: Compression = Compression.NONE) -> bytes:
    """A keyed write."""
    return build_batch(RICH, producer_id=2**62 + 5, producer_epoch=3, base_sequence=9, compression=compression)


@pytest.mark.rule("CLIENT-11")
def test_header_has_a_content_checksum_when_the_batch_is_an_exactly_once_write() -> None:
    assert read_header(keyed()).content_checksum == CONTENT_CHECKSUM


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(build_batch(RICH), id="no producer"),
        pytest.param(build_batch(RICH, producer_id=2**61 - 1, producer_epoch=3, base_sequence=9), id="idempotent"),
        pytest.param(keyed(Compression.ZSTD), id="compressed"),
        pytest.param(with_field(keyed(), HEADER.size, ">b", 0x7F), id="malformed records"),
        pytest.param(with_field(keyed(), 57, ">i", 2**31 - 1), id="more records than there are"),
    ],
)
@pytest.mark.rule("CLIENT-11")
def test_header_has_no_content_checksum_when_there_is_nothing_to_compare(batch: bytes) -> None:
    assert read_header(batch).content_checksum is None
