"""Decoding: what is refused, with the offset of the batch in the message."""

from __future__ import annotations

import struct

import pytest

from datasource.columns import decode
from datasource.columns.kernel import Kernel
from raft.errors import CorruptBatchError, DecodeError
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.records.varint import write_varint
from raft.types import Offset
from tests.columns.batches import HEADER_SIZE, batch_of, with_field, with_records
from tests.columns.rows import decode_all, decoded_rows

TOO_LATE_MS = 2**63 // 1000 + 1


@pytest.mark.kafka_suite(30)
@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(build_batch([Record(timestamp_ms=TOO_LATE_MS)], base_offset=Offset(7)), id="late"),
        pytest.param(build_batch([Record(timestamp_ms=-TOO_LATE_MS)], base_offset=Offset(7)), id="early"),
        pytest.param(
            # In 64 bits the sum would be -2, a valid time.
            with_field(
                with_records(batch_of(b"", base_offset=7), bytes([30, 0, *write_varint(2**63 - 1), 0, 1, 1, 0])),
                ">q",
                27,
                2**63 - 1,
            ),
            id="sum beyond 64 bits",
        ),
        pytest.param(
            with_field(with_field(batch_of(b"a", base_offset=7), ">h", 21, 0x08), ">q", 35, TOO_LATE_MS),
            id="set by the leader",
        ),
    ],
)
def test_decoder_refuses_timestamps_that_spark_cannot_express(kernel: Kernel, batch: bytes) -> None:
    with pytest.raises(DecodeError, match=r"batch at offset 7, record [01]: its timestamp does not fit"):
        decoded_rows(decode_all(batch, kernel))


@pytest.mark.rule("LOG-2")
@pytest.mark.parametrize("position", [17, 20, 21, 22, 30, 60, HEADER_SIZE, -1])
def test_decoder_refuses_a_batch_when_a_byte_under_the_checksum_changed(kernel: Kernel, position: int) -> None:
    batch = bytearray(batch_of(b"a" * 50, base_offset=5))
    batch[position] ^= 0x10

    with pytest.raises(CorruptBatchError, match="batch at offset 5, byte 68 of the response: wrong checksum"):
        decode_all(batch_of(b"") + bytes(batch), kernel)


def unsealed(batch: bytes, form: str, position: int, value: int) -> bytes:
    changed = bytearray(batch)
    struct.pack_into(form, changed, position, value)
    return bytes(changed)


@pytest.mark.rule("LOG-1")
@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(unsealed(batch_of(b"a"), ">b", 16, 1), id="magic 1"),
        pytest.param(unsealed(batch_of(b"a"), ">i", 8, 48), id="length smaller than a header"),
        pytest.param(unsealed(batch_of(b"a"), ">i", 8, -1), id="negative length"),
        pytest.param(unsealed(batch_of(b"a"), ">q", 0, -1), id="negative offset"),
        pytest.param(unsealed(batch_of(b"a"), ">q", 0, 2**63 - 1), id="end offset beyond 64 bits"),
        pytest.param(with_field(batch_of(b"a"), ">i", 23, -1), id="negative last offset delta"),
        pytest.param(with_field(batch_of(b"a"), ">i", 57, -1), id="negative record count"),
    ],
)
def test_decoder_refuses_an_impossible_header(kernel: Kernel, batch: bytes) -> None:
    with pytest.raises(DecodeError, match=r"batch at offset -?\d+: "):
        decode_all(batch, kernel)


def test_decoder_refuses_batches_that_go_back(kernel: Kernel) -> None:
    with pytest.raises(DecodeError, match="batch at offset 1: "):
        decode_all(batch_of(b"a", b"b") + batch_of(b"c", base_offset=1), kernel)


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(b"", id="no bytes"),
        pytest.param(bytes([0]), id="length 0"),
        pytest.param(bytes([1, 0, 0, 0, 1, 1, 0]), id="length negative"),
        pytest.param(bytes([14, 0, 0, 0, 1, 1, 0]), id="length beyond the batch"),
        pytest.param(bytes([10, 0, 0, 0, 1, 1, 0]), id="length too small"),
        pytest.param(bytes([14, 0, 0, 0, 1, 1, 0, 0]), id="length too large"),
        pytest.param(bytes([12, 0, 0, 0, 1, 1, 0, 0]), id="bytes after the last record"),
        pytest.param(bytes([12, 0, 0, 0, 3, 1, 0]), id="key of length -2"),
        pytest.param(bytes([12, 0, 0, 0, 6, 1, 0]), id="key beyond the record"),
        pytest.param(bytes([12, 0, 0, 0, 1, 4, 0]), id="value beyond the record"),
        pytest.param(bytes([12, 0, 0, 0, 1, 3, 0]), id="value of length -2"),
        pytest.param(bytes([12, 0, 0, 0, 1, 1, 2]), id="a header that is not there"),
        pytest.param(bytes([12, 0, 0, 0, 1, 1, 1]), id="header count -1"),
        pytest.param(bytes([16, 0, 0, 0, 1, 1, 2, 1, 1]), id="header without a key"),
        pytest.param(bytes([16, 0, 0, 0, 1, 1, 2, 4, 1]), id="header key beyond the record"),
        pytest.param(bytes([16, 0, 0, 0, 1, 1, 2, 0, 4]), id="header value beyond the record"),
        pytest.param(bytes([12, 0, 0x80, 0x80, 0x80, 0x80, 0x80]), id="varint without end"),
        pytest.param(bytes([20, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10, 1, 1, 0]), id="varint of 33 bits"),
        pytest.param(bytes([30, 0, *[0xFF] * 9, 2, 0, 1, 1, 0, 0]), id="varlong of 65 bits"),
        pytest.param(bytes([0xFF] * 4 + [0x0F, 0]), id="length -2147483648"),
        pytest.param(bytes([0xFE] + [0xFF] * 3 + [0x0F, 0]), id="length 2147483647"),
    ],
)
def test_decoder_refuses_malformed_records(kernel: Kernel, records: bytes) -> None:
    batch = with_records(batch_of(b"a", base_offset=3), records)

    with pytest.raises(DecodeError, match=r"batch at offset 3, record \d: it is malformed"):
        decoded_rows(decode_all(batch, kernel))


@pytest.mark.parametrize(
    "deltas", [[-1, 0], [0, 0], [1, 0], [0, 2]], ids=["before the first", "the same", "falling", "after the last"]
)
def test_decoder_refuses_offsets_that_do_not_rise_inside_of_the_batch(kernel: Kernel, deltas: list[int]) -> None:
    records = [bytes([12, 0, 0, *write_varint(delta), 1, 1, 0]) for delta in deltas]
    batch = with_records(batch_of(b"a", b"b", base_offset=3), b"".join(records))

    with pytest.raises(DecodeError, match=r"batch at offset 3, record [01]: its offset"):
        decoded_rows(decode_all(batch, kernel))


@pytest.mark.parametrize("record_count", [1, 3, 2**31 - 1])
def test_decoder_refuses_another_count_than_there_are_records(kernel: Kernel, record_count: int) -> None:
    batch = with_field(with_field(batch_of(b"a", b"b"), ">i", 57, record_count), ">i", 23, 2**31 - 1)

    with pytest.raises(DecodeError, match="batch at offset 0, record "):
        decoded_rows(decode_all(batch, kernel))


def test_decoder_names_the_malformed_batch_among_others(kernel: Kernel) -> None:
    bad = with_records(batch_of(b"a", base_offset=1), b"\0")

    with pytest.raises(DecodeError, match="batch at offset 1, record 0: it is malformed"):
        decoded_rows(decode_all(batch_of(b"a") + bad + batch_of(b"c", base_offset=2), kernel))


def test_decoder_refuses_a_batch_that_holds_more_than_allowed(kernel: Kernel) -> None:
    bomb = batch_of(bytes(1 << 20), base_offset=8, compression=Compression.ZSTD)

    decoded = decode(bomb, start_offset=0, end_offset=9, max_decompressed_bytes=1 << 19, kernel=kernel)

    with pytest.raises(DecodeError, match="batch at offset 8: "):
        list(decoded.record_batches)
