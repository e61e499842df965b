"""Decoding: the records of aborted transactions are left out (rule TXN-10)."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource.columns import Decoded, decode
from datasource.columns.kernel import Kernel
from raft.client import AbortedFilter
from raft.client.results import AbortedTransaction
from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.compression import Compression
from raft.records.control_key import write_control_key
from raft.records.record import Record
from raft.types import ControlType, Offset
from tests.columns.batches import NOW_MS, batch_of
from tests.columns.rows import EVERYTHING


def data(by: int, at: int, *, records: int = 1, compression: Compression = Compression.NONE) -> bytes:
    """A batch of a transaction; `at` is its base offset, and the values are the offsets."""
    return build_batch(
        [Record(value=b"%d" % offset, timestamp_ms=NOW_MS) for offset in range(at, at + records)],
        base_offset=Offset(at),
        producer_id=by,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
        compression=compression,
    )


def marker(by: int, at: int, end: ControlType) -> bytes:
    record = Record(key=write_control_key(end), value=bytes(6), timestamp_ms=NOW_MS)
    return build_batch(
        [record],
        base_offset=Offset(at),
        producer_id=by,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


def commit(by: int, at: int) -> bytes:
    return marker(by, at, ControlType.COMMIT)


def abort(by: int, at: int) -> bytes:
    return marker(by, at, ControlType.ABORT)


def aborted(*transactions: tuple[int, int]) -> AbortedFilter:
    """A filter that knows producer id and first offset of each aborted transaction."""
    return AbortedFilter(AbortedTransaction(by, Offset(first)) for by, first in transactions)


def offsets_of(decoded: Decoded) -> list[int]:
    return [offset for part in decoded.record_batches for offset in part.column("offset").to_pylist()]


LOG = (
    batch_of(b"0")
    + data(1, 1, records=3)
    + data(2, 4, compression=Compression.ZSTD)
    + batch_of(b"5", base_offset=5)
    + data(1, 6)
    + abort(1, 7)
    + data(1, 8)
    + commit(2, 9)
    + data(2, 10, records=2)
    + commit(1, 12)
    + abort(2, 13)
)
ABORTED = ((1, 1), (2, 10))


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        pytest.param((), [0, 1, 2, 3, 4, 5, 6, 8, 10, 11], id="none"),
        pytest.param(ABORTED[:1], [0, 4, 5, 8, 10, 11], id="the first one"),
        pytest.param(ABORTED, [0, 4, 5, 8], id="both"),
        pytest.param(((2, 4),), [0, 1, 2, 3, 5, 6, 8], id="another one, compressed, without a marker"),
    ],
)
def test_decoder_leaves_out_the_records_of_aborted_transactions(
    kernel: Kernel, transactions: tuple[tuple[int, int], ...], expected: list[int]
) -> None:
    decoded = decode(LOG, start_offset=0, end_offset=EVERYTHING, aborted=aborted(*transactions), kernel=kernel)

    assert offsets_of(decoded) == expected
    assert decoded.next_offset == 14


def test_decoder_returns_every_record_when_it_knows_of_no_transaction(kernel: Kernel) -> None:
    decoded = decode(LOG, start_offset=0, end_offset=EVERYTHING, kernel=kernel)

    assert offsets_of(decoded) == [0, 1, 2, 3, 4, 5, 6, 8, 10, 11]


@pytest.mark.rule("TXN-10")
@given(start=st.integers(0, 14), length=st.integers(0, 14))
@settings(max_examples=60, deadline=None)
def test_decoder_leaves_out_the_same_records_in_any_range(kernel: Kernel, start: int, length: int) -> None:
    decoded = decode(LOG, start_offset=start, end_offset=start + length, aborted=aborted(*ABORTED), kernel=kernel)

    assert offsets_of(decoded) == [offset for offset in (0, 4, 5, 8) if start <= offset < start + length]


@pytest.mark.rule("TXN-10")
def test_decoder_returns_markers_among_control_records_and_no_aborted_ones(kernel: Kernel) -> None:
    decoded = decode(LOG, start_offset=0, end_offset=EVERYTHING, control=True, aborted=aborted(*ABORTED), kernel=kernel)

    rows = [row for part in decoded.record_batches for row in part.to_pylist()]
    assert [(row["offset"], row["is_control"]) for row in rows] == [
        (0, False),
        (4, False),
        (5, False),
        (7, True),
        (8, False),
        (9, True),
        (12, True),
        (13, True),
    ]


@pytest.mark.rule("TXN-10")
@pytest.mark.parametrize("count", range(12))
def test_decoder_goes_on_with_the_next_response_where_the_last_one_ended(kernel: Kernel, count: int) -> None:
    """Each response names the transactions with records or a marker in it, as a server does."""
    ends = [0, *accumulate(batch.header.size_bytes for batch in read_batches(LOG))]
    cut = ends[count]
    offsets: list[int] = []

    for response in (LOG[:cut], LOG[cut:]):
        headers = [batch.header for batch in read_batches(response)]
        if not headers:
            continue
        named = [
            (by, first)
            for (by, first), marker_offset in zip(ABORTED, (7, 13), strict=True)
            if first < headers[-1].end_offset and marker_offset >= headers[0].base_offset
        ]
        decoded = decode(response, start_offset=0, end_offset=EVERYTHING, aborted=aborted(*named), kernel=kernel)
        offsets += offsets_of(decoded)

    assert offsets == [0, 4, 5, 8]


def test_decoder_refuses_a_malformed_marker_when_it_looks_for_aborted_transactions(kernel: Kernel) -> None:
    record = Record(key=b"\0\0\0", value=bytes(6), timestamp_ms=NOW_MS)
    malformed = build_batch(
        [record], base_offset=Offset(1), producer_id=1, producer_epoch=0, is_transactional=True, is_control=True
    )

    with pytest.raises(DecodeError, match="a key of 3 bytes"):
        decode(data(1, 0) + malformed, start_offset=0, end_offset=EVERYTHING, aborted=aborted((1, 0)), kernel=kernel)


def test_decoder_opens_no_batch_of_an_aborted_transaction(kernel: Kernel) -> None:
    broken = build_batch(
        [Record(value=b"1", timestamp_ms=2**62)],
        base_offset=Offset(0),
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    response = broken + abort(1, 1) + batch_of(b"2", base_offset=2)

    decoded = decode(response, start_offset=0, end_offset=EVERYTHING, aborted=aborted((1, 0)), kernel=kernel)

    assert offsets_of(decoded) == [2]
    with pytest.raises(DecodeError):
        offsets_of(decode(response, start_offset=0, end_offset=EVERYTHING, kernel=kernel))
