"""Encoding of rows that have timestamps of their own, in the column `timestamp`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource.columns import encode_batch, encoded_size
from datasource.columns.kernel import Kernel
from datasource.columns.rows import RecordBatches
from raft.records.produced import read_produced_batch
from tests.columns.batches import NOW_MS, batch_by_aiokafka, contents, header_lists
from tests.columns.rows import Headers, Row, read_plainly, rows_to_write

NO_LIMIT = 1 << 30
LAST_MS = (1 << 63) // 1000 - 1
"""The last time that has a timestamp in microseconds."""

times_ms = st.one_of(st.integers(0, LAST_MS), st.integers(NOW_MS - 100, NOW_MS + 100))


def timed_rows(values: Sequence[tuple[bytes | None, bytes | None, Headers, int]]) -> list[Row]:
    return [
        Row(key=key, value=value, headers=headers, timestamp_ms=time_ms, offset=at, epoch=-1)
        for at, (key, value, headers, time_ms) in enumerate(values)
    ]


rows = st.lists(st.tuples(contents, contents, header_lists, times_ms), min_size=1, max_size=12).map(timed_rows)


def timed(written: Sequence[Row], unit: str = "us", rest: int = 0) -> pa.RecordBatch:
    """Return rows as a writer gets them from Spark; `rest` is added to each time in its unit."""
    scale = {"ms": 1, "us": 1000}[unit]
    values = [row.timestamp_ms * scale + rest for row in written]
    column = pa.array(values, pa.int64()).cast(pa.timestamp(unit, tz="UTC"))
    return rows_to_write(written).append_column("timestamp", column)


def encode(record_batches: RecordBatches, kernel: Kernel) -> bytes:
    return encode_batch(record_batches, producer_id=None, timestamp_ms=NOW_MS, max_bytes=NO_LIMIT, kernel=kernel)


@given(written=rows)
@settings(max_examples=150, deadline=None)
def test_encoder_writes_the_timestamps_that_the_plain_reader_reads(kernel: Kernel, written: list[Row]) -> None:
    batch = encode(timed(written), kernel)

    assert read_plainly(batch) == written
    assert len(batch) == encoded_size(timed(written), kernel=kernel)
    read_produced_batch(batch, max_batch_bytes=NO_LIMIT)


@given(written=rows)
@settings(max_examples=100, deadline=None)
def test_encoder_makes_the_bytes_that_aiokafka_makes_of_the_same_timestamps(kernel: Kernel, written: list[Row]) -> None:
    batch = encode(timed(written), kernel)

    assert batch[16:] == batch_by_aiokafka(written)[16:]


@given(written=rows, at=st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_chunks_share_the_base_timestamp(kernel: Kernel, written: list[Row], at: int) -> None:
    whole = timed(written)

    chunks = [whole.slice(0, at), whole.slice(at)]

    assert encode(chunks, kernel) == encode(whole, kernel)
    assert encoded_size(chunks, kernel=kernel) == len(encode(whole, kernel))


@given(written=rows)
@settings(max_examples=60, deadline=None)
def test_kernels_make_the_same_bytes_of_timestamps(compiled: Kernel, python: Kernel, written: list[Row]) -> None:
    assert encode(timed(written), compiled) == encode(timed(written), python)


def test_header_has_the_first_and_the_largest_timestamp(kernel: Kernel) -> None:
    written = timed_rows([(None, b"v", (), time_ms) for time_ms in (50, 10, 90, 20)])

    assert struct.unpack_from(">qq", encode(timed(written), kernel), 27) == (50, 90)


@pytest.mark.parametrize(("unit", "rest"), [("ms", 0), ("us", 0), ("us", 1), ("us", 999)])
def test_part_of_a_millisecond_is_dropped(kernel: Kernel, unit: str, rest: int) -> None:
    written = timed_rows([(None, b"v", (), time_ms) for time_ms in (0, NOW_MS)])

    assert read_plainly(encode(timed(written, unit, rest), kernel)) == written


@pytest.mark.parametrize(
    ("column", "message"),
    [
        pytest.param(pa.array([5, None], pa.timestamp("us")), "the timestamp of a row is null", id="null"),
        pytest.param(
            pa.array([5, -1], pa.timestamp("us")), "a row is -1 us after 1970-01-01: expected that", id="before 1970"
        ),
        pytest.param(pa.array([5, 6]), "timestamp is int64, expected timestamp", id="a number"),
    ],
)
def test_rows_without_a_time_are_refused(column: pa.Array, message: str) -> None:
    record_batch = pa.record_batch({"value": pa.array([b"a", b"b"]), "timestamp": column})

    with pytest.raises((TypeError, ValueError), match=message):
        encoded_size(record_batch)


def test_content_checksum_does_not_depend_on_timestamps(kernel: Kernel) -> None:
    """A repeated write is recognized by its content, and a repeated part may begin its batches at other rows."""
    written = timed_rows([(b"k", b"v", (), time_ms) for time_ms in (50, 10)])
    later = [replace(row, timestamp_ms=row.timestamp_ms + 1) for row in written]

    first, second = (
        read_produced_batch(
            encode_batch(
                timed(each),
                producer_id=2**62,
                producer_epoch=0,
                base_sequence=0,
                timestamp_ms=NOW_MS,
                max_bytes=NO_LIMIT,
                kernel=kernel,
            ),
            max_batch_bytes=NO_LIMIT,
        )
        for each in (written, later)
    )

    assert first.header.content_checksum == second.header.content_checksum is not None
