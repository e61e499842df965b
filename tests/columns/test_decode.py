"""Decoding: which rows are returned, and which are left out."""

from __future__ import annotations

import struct
from typing import cast

import pyarrow as pa
import pytest
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource.columns import Decoded, decode, read_schema
from datasource.columns.kernel import Kernel
from raft.records.batch import build_batch, read_records
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Offset
from tests.columns.batches import (
    batch_by_aiokafka,
    batch_of,
    batch_of_rows,
    row_batches,
    with_field,
    with_records,
)
from tests.columns.rows import EVERYTHING, Row, decode_all, decoded_rows, read_plainly
from tests.node.harness.batches import sealed


def offsets_of(decoded: Decoded) -> list[int]:
    return [offset for part in decoded.record_batches for offset in part.column("offset").to_pylist()]


@pytest.mark.rule("LOG-1", "LOG-3")
@given(rows=row_batches())
@settings(max_examples=150, deadline=None)
def test_decoder_agrees_with_the_plain_reader_on_any_rows(kernel: Kernel, rows: list[list[Row]]) -> None:
    data = b"".join(map(batch_of_rows, rows))

    decoded = decode_all(data, kernel)

    assert decoded_rows(decoded) == read_plainly(data) == [row for batch in rows for row in batch]
    assert decoded.next_offset == (rows[-1][-1].offset + 1 if rows else None)


@given(rows=row_batches())
@settings(max_examples=50, deadline=None)
def test_decoder_agrees_with_aiokafka_on_batches_of_aiokafka(kernel: Kernel, rows: list[list[Row]]) -> None:
    data = batch_by_aiokafka([row for batch in rows for row in batch])

    decoded = decoded_rows(decode_all(data, kernel))

    theirs = [record for batch in iter(MemoryRecords(data).next_batch, None) for record in batch]
    assert [(row.offset, row.timestamp_ms, row.key, row.value, row.headers) for row in decoded] == [
        (record.offset, record.timestamp, record.key, record.value, tuple(record.headers)) for record in theirs
    ]


@given(rows=row_batches(), start=st.integers(0, 30), length=st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_decoder_keeps_rows_in_the_range_only(kernel: Kernel, rows: list[list[Row]], start: int, length: int) -> None:
    first = rows[0][0].offset if rows else 0
    start_offset, end_offset = first - 3 + start, first - 3 + start + length
    data = b"".join(map(batch_of_rows, rows))

    decoded = decode(data, start_offset=start_offset, end_offset=end_offset, headers=True, kernel=kernel)

    wanted = [row for batch in rows for row in batch if start_offset <= row.offset < end_offset]
    assert decoded_rows(decoded) == wanted
    assert decoded.next_offset == (rows[-1][-1].offset + 1 if rows else None)


@pytest.mark.parametrize("size", [2**20 - 1, 2**20, 17 << 20], ids=["3 bytes", "4 bytes at least", "17 MiB"])
def test_decoder_reads_large_values(kernel: Kernel, size: int) -> None:
    rows = [Row(key=b"k" * size, value=b"v" * size, offset=0, timestamp_ms=0, epoch=0, headers=(("h", b"x" * size),))]

    assert decoded_rows(decode_all(batch_of_rows(rows), kernel)) == rows


def test_decoder_takes_tens_of_mebibytes_at_once(kernel: Kernel) -> None:
    values = [bytes([index % 256]) * 2000 for index in range(100)]
    data = b"".join(batch_of(*values, base_offset=100 * index) for index in range(200))

    (record_batch,) = decode(data, start_offset=50, end_offset=EVERYTHING, kernel=kernel).record_batches

    assert len(data) > 40_000_000
    assert record_batch.column("offset").to_numpy().tolist() == list(range(50, 20_000))
    assert record_batch.column("value").equals(pa.array((values * 200)[50:], pa.binary()))


def test_decoder_gives_exactly_the_read_schema(kernel: Kernel) -> None:
    data = batch_of(b"a")

    for headers in (False, True):
        for control in (False, True):
            decoded = decode(data, start_offset=0, end_offset=9, headers=headers, control=control, kernel=kernel)

            (record_batch,) = decoded.record_batches
            assert record_batch.schema.equals(read_schema(headers=headers, control=control), check_metadata=True)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        pytest.param(b"b\xffd", "b\ufffdd", id="a byte that begins nothing"),
        pytest.param(b"\xe2\x82!", "\ufffd!", id="an incomplete character"),
        pytest.param(b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", id="a surrogate"),
        pytest.param(b"\xf4\x90\x80\x80", "\ufffd" * 4, id="past the last character"),
        pytest.param(b"\xc0\xaf", "\ufffd\ufffd", id="longer than need be"),
    ],
)
@pytest.mark.rule("CLIENT-12")
def test_decoder_replaces_what_is_not_utf8_in_header_keys(kernel: Kernel, key: bytes, shown: str) -> None:
    good = Record(headers=(("k", b"v"), ("gr\xfc\xdfe", None)))
    bad = Record(headers=(("first", None), ("x" * len(key), b"v")))
    batch = build_batch([good, bad, Record(), good], base_offset=Offset(40))
    data = sealed(batch.replace(b"x" * len(key), key))

    rows = decoded_rows(decode_all(data, kernel))

    assert [row.headers for row in rows] == [good.headers, (("first", None), (shown, b"v")), (), good.headers]
    assert [row.headers for row in rows] == [record.headers for record in read_records(data)]


def test_decoder_gives_null_headers_when_a_record_has_none(kernel: Kernel) -> None:
    rows = [
        Row(key=None, value=b"", offset=0, timestamp_ms=0, epoch=0, headers=headers) for headers in ((), (("", None),))
    ]

    (record_batch,) = decode_all(batch_of_rows(rows), kernel).record_batches

    assert record_batch.column("headers").to_pylist() == [None, [{"key": "", "value": None}]]


def test_decoder_ends_without_an_error_when_the_last_batch_is_incomplete(kernel: Kernel) -> None:
    first, second = batch_of(b"a", b"b"), batch_of(b"c", base_offset=2)

    for length in range(len(first) + len(second)):
        decoded = decode_all((first + second)[:length], kernel)

        is_first_whole = length >= len(first)
        assert decoded.next_offset == (2 if is_first_whole else None)
        assert offsets_of(decoded) == ([0, 1] if is_first_whole else [])


def test_decoder_leaves_gaps_of_compaction_and_empty_batches_as_they_are(kernel: Kernel) -> None:
    emptied = with_field(with_records(batch_of(b"gone", base_offset=3), b""), ">i", 57, 0)
    shortened = with_field(batch_of(b"kept", base_offset=10), ">i", 23, 9)

    decoded = decode_all(batch_of(b"a") + emptied + shortened, kernel)

    assert offsets_of(decoded) == [0, 10]
    assert decoded.next_offset == 20


def test_decoder_skips_control_batches_and_says_how_far_it_came(kernel: Kernel) -> None:
    control = build_batch(
        [Record(key=b"\0\0\0\2", value=b"leader", timestamp_ms=1)], base_offset=Offset(1), is_control=True
    )

    decoded = decode_all(batch_of(b"a") + control, kernel)

    assert offsets_of(decoded) == [0]
    assert decoded.next_offset == 2


def test_decoder_marks_control_records_when_they_are_read(kernel: Kernel) -> None:
    control = build_batch(
        [Record(key=b"\0\0\0\2", value=b"leader", timestamp_ms=1)], base_offset=Offset(1), is_control=True
    )
    data = batch_of(b"a") + control + batch_of(b"b", b"c", base_offset=2)

    decoded = decode(data, start_offset=0, end_offset=3, control=True, kernel=kernel)

    (record_batch,) = decoded.record_batches
    assert record_batch.column("is_control").to_pylist() == [False, True, False]
    assert record_batch.column("key").to_pylist() == [None, b"\0\0\0\2", None]
    assert record_batch.column("value").to_pylist() == [b"a", b"leader", b"b"]


@pytest.mark.rule("LOG-2")
def test_decoder_takes_the_largest_timestamp_for_all_when_the_leader_set_it(kernel: Kernel) -> None:
    batch = with_field(with_field(batch_of(b"a", b"b"), ">h", 21, 0x08), ">q", 35, 12345)

    rows = decoded_rows(decode_all(batch, kernel))

    assert [row.timestamp_ms for row in rows] == [12345, 12345]


def test_decoder_keeps_times_before_1970(kernel: Kernel) -> None:
    batch = build_batch([Record(value=b"a", timestamp_ms=-1), Record(value=b"b", timestamp_ms=-(10**12))])

    rows = decoded_rows(decode_all(batch, kernel))

    assert [row.timestamp_ms for row in rows] == [-1, -(10**12)]


@pytest.mark.parametrize("timestamp_ms", [2**63 // 1000, -(2**63 // 1000)], ids=["last", "first"])
def test_decoder_takes_the_outermost_timestamps(kernel: Kernel, timestamp_ms: int) -> None:
    batch = build_batch([Record(timestamp_ms=timestamp_ms)])

    (record_batch,) = decode_all(batch, kernel).record_batches

    assert record_batch.column("timestamp").cast(pa.int64()).to_pylist() == [timestamp_ms * 1000]


def test_decoder_ignores_the_timestamp_of_a_row_out_of_range(kernel: Kernel) -> None:
    batch = build_batch([Record(timestamp_ms=2**62), Record(timestamp_ms=5)])

    decoded = decode(batch, start_offset=1, end_offset=2, headers=True, kernel=kernel)

    assert [row.timestamp_ms for row in decoded_rows(decoded)] == [5]


@pytest.mark.rule("LOG-2")
def test_decoder_takes_offset_and_epoch_that_the_leader_wrote_over_the_senders(kernel: Kernel) -> None:
    batch = bytearray(batch_of(b"a"))
    struct.pack_into(">q", batch, 0, 2**40)
    struct.pack_into(">i", batch, 12, 77)

    (row,) = decoded_rows(decode_all(bytes(batch), kernel))

    assert (row.offset, row.epoch) == (2**40, 77)


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name)
def test_decoder_reads_every_codec_beside_plain_batches(kernel: Kernel, codec: Compression) -> None:
    first = [Row(key=b"k", value=b"v" * 200, offset=5, timestamp_ms=1, epoch=2, headers=(("h", b"x"),))] * 1
    packed = [
        Row(key=None, value=bytes([index]) * 300, offset=10 + index, timestamp_ms=1, epoch=2) for index in range(9)
    ]
    last = [Row(key=b"k", value=None, offset=30, timestamp_ms=1, epoch=3)]
    data = batch_of_rows(first) + batch_of_rows(packed, codec) + batch_of_rows(last)

    decoded = decode(data, start_offset=0, end_offset=EVERYTHING, headers=True, kernel=kernel)

    assert decoded_rows(decoded) == first + packed + last


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD], ids=lambda codec: codec.name)
def test_decoder_splits_what_is_too_much_for_one_record_batch(kernel: Kernel, codec: Compression) -> None:
    data = b"".join(batch_of(b"v" * 1000, b"w", base_offset=2 * index, compression=codec) for index in range(10))
    large = batch_of(b"x" * 9000, base_offset=20, compression=codec)

    decoded = decode(data + large, start_offset=3, end_offset=21, max_arrow_bytes=3100, kernel=kernel)

    parts = list(decoded.record_batches)
    assert [part.num_rows for part in parts] == [5, 6, 6, 1]
    assert [offset for part in parts for offset in part.column("offset").to_pylist()] == list(range(3, 21))


def test_decoder_opens_no_batch_outside_of_the_range(kernel: Kernel) -> None:
    broken = b"\0"
    before = with_records(batch_of(b"a", base_offset=0), broken)
    after = with_records(batch_of(b"c", base_offset=2), broken)

    decoded = decode(before + batch_of(b"b", base_offset=1) + after, start_offset=1, end_offset=2, kernel=kernel)

    assert offsets_of(decoded) == [1]


def test_decoder_returns_copies(kernel: Kernel) -> None:
    buffer = bytearray(
        batch_of_rows([Row(key=b"key", value=b"v" * 99, offset=0, timestamp_ms=1, epoch=0, headers=(("h", b"x"),))])
    )

    decoded = decode_all(cast("bytes", memoryview(buffer)), kernel)
    (record_batch,) = decoded.record_batches
    before = record_batch.to_pylist()
    buffer[:] = bytes(len(buffer))

    assert record_batch.to_pylist() == before
