"""Encoding: the bytes of the batch, its size beforehand, and the rows that are refused."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource.columns import decode, encode_batch, encoded_size
from datasource.columns.kernel import Kernel
from raft.errors import ErrorCode, RequestError
from tests.columns.batches import NOW_MS, batch_by_aiokafka, contents, header_lists
from tests.columns.rows import Headers, Row, decoded_rows, read_plainly, rows_to_write
from tests.node.harness.batches import sealed

NO_LIMIT = 1 << 30

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])


def encode(record_batches: Any, kernel: Kernel) -> bytes:
    return encode_batch(record_batches, producer_id=None, timestamp_ms=NOW_MS, max_bytes=NO_LIMIT, kernel=kernel)


def rows_of(*values: tuple[bytes | None, bytes | None, Headers], epoch: int = -1) -> list[Row]:
    return [
        Row(key=key, value=value, headers=headers, offset=index, timestamp_ms=NOW_MS, epoch=epoch)
        for index, (key, value, headers) in enumerate(values)
    ]


rows = st.lists(st.tuples(contents, contents, header_lists), min_size=1, max_size=12).map(lambda v: rows_of(*v))
many_rows = rows_of(*((b"k", b"v" * (index % 70), ()) for index in range(9000)))


@pytest.mark.rule("LOG-1", "LOG-3")
@given(written=rows)
@settings(max_examples=150, deadline=None)
def test_encoder_writes_the_rows_that_the_plain_reader_reads(kernel: Kernel, written: list[Row]) -> None:
    assert read_plainly(encode(rows_to_write(written), kernel)) == written


@pytest.mark.rule("LOG-2")
@given(written=rows)
@settings(max_examples=100, deadline=None)
def test_encoder_makes_the_bytes_that_aiokafka_makes(kernel: Kernel, written: list[Row]) -> None:
    batch = encode(rows_to_write(written), kernel)

    # The epoch, which neither of them knows, is the only difference: it lies outside of the checksum.
    assert batch[:12] + batch[16:] == (theirs := batch_by_aiokafka(written))[:12] + theirs[16:]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 9000])
def test_encoder_makes_the_bytes_of_aiokafka_for_offset_deltas_of_every_size(kernel: Kernel, count: int) -> None:
    batch = encode(rows_to_write(many_rows[:count]), kernel)

    assert batch[16:] == batch_by_aiokafka(many_rows[:count])[16:]


@given(written=rows, data=st.data())
@settings(max_examples=60, deadline=None)
def test_encoder_makes_one_batch_of_all_chunks(kernel: Kernel, written: list[Row], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=3)))
    whole = rows_to_write(written)
    edges = [0, *cuts, len(written)]
    chunks = [whole.slice(start, end - start) for start, end in itertools.pairwise(edges)]

    assert encode(chunks, kernel) == encode(pa.Table.from_batches(chunks), kernel) == encode(whole, kernel)
    assert encoded_size(chunks, kernel=kernel) == len(encode(whole, kernel))


@given(written=rows)
@settings(max_examples=60, deadline=None)
def test_kernels_make_the_same_bytes(compiled: Kernel, python: Kernel, written: list[Row]) -> None:
    record_batch = rows_to_write(written)

    assert encode(record_batch, compiled) == encode(record_batch, python)
    assert encoded_size(record_batch, kernel=compiled) == encoded_size(record_batch, kernel=python)


@pytest.mark.rule("LOG-4")
def test_encoder_writes_one_time_and_no_compression(kernel: Kernel) -> None:
    batch = encode(rows_to_write(many_rows[:3]), kernel)

    attributes, last_offset_delta, base_timestamp_ms, max_timestamp_ms = struct.unpack_from(">hiqq", batch, 21)
    assert (attributes, last_offset_delta, base_timestamp_ms, max_timestamp_ms) == (0, 2, NOW_MS, NOW_MS)
    assert {row.timestamp_ms for row in read_plainly(batch)} == {NOW_MS}
    assert sealed(batch) == batch


def test_encoder_leaves_offset_and_epoch_to_the_leader(kernel: Kernel) -> None:
    batch = encode(rows_to_write(many_rows[:3]), kernel)

    assert struct.unpack_from(">qii", batch) == (0, len(batch) - 12, -1)


def test_encoder_writes_the_key_of_the_write_into_the_header(kernel: Kernel) -> None:
    batch = encode_batch(
        rows_to_write(many_rows[:1]),
        producer_id=2**62 + 5,
        producer_epoch=7,
        base_sequence=2**31 - 1,
        timestamp_ms=NOW_MS,
        max_bytes=NO_LIMIT,
        kernel=kernel,
    )

    assert struct.unpack_from(">qhi", batch, 43) == (2**62 + 5, 7, 2**31 - 1)


def test_encoder_writes_no_key_when_there_is_none(kernel: Kernel) -> None:
    assert struct.unpack_from(">qhi", encode(rows_to_write(many_rows[:1]), kernel), 43) == (-1, -1, -1)


def test_encoder_refuses_a_byte_more_than_the_limit_and_takes_the_limit(kernel: Kernel) -> None:
    record_batch = rows_to_write(many_rows[:100])
    size = encoded_size(record_batch, kernel=kernel)

    batch = encode_batch(record_batch, producer_id=None, timestamp_ms=NOW_MS, max_bytes=size, kernel=kernel)
    with pytest.raises(RequestError, match=f"a batch of {size} bytes, expected at most {size - 1}") as refusal:
        encode_batch(record_batch, producer_id=None, timestamp_ms=NOW_MS, max_bytes=size - 1, kernel=kernel)

    assert len(batch) == size
    assert refusal.value.code == ErrorCode.MESSAGE_TOO_LARGE


TYPES = [
    pa.binary(),
    pa.string(),
    pa.large_binary(),
    pa.large_string(),
    pa.binary_view(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
]


@pytest.mark.parametrize("data_type", TYPES, ids=str)
def test_encoder_takes_every_type_of_bytes(kernel: Kernel, data_type: pa.DataType) -> None:
    texts = ["left out", "abc", None, "", "ä" * 40, "left out"]
    column = pa.array(texts).cast(data_type)
    record_batch = pa.record_batch({"key": column, "value": column}).slice(1, 4)

    rows = read_plainly(encode(record_batch, kernel))

    assert [row.value for row in rows] == [b"abc", None, b"", ("ä" * 40).encode()]
    assert [row.key for row in rows] == [row.value for row in rows]


def test_encoder_takes_bytes_of_one_length_and_columns_of_nothing_but_null(kernel: Kernel) -> None:
    record_batch = pa.record_batch({"value": pa.array([b"ab", b"cd"], pa.binary(2)), "key": pa.nulls(2)})

    rows = read_plainly(encode(record_batch, kernel))

    assert [(row.key, row.value) for row in rows] == [(None, b"ab"), (None, b"cd")]


@pytest.mark.parametrize("values", [[b"", b""], [None, None], [b"", None]], ids=["empty", "null", "both"])
def test_encoder_takes_columns_without_a_byte(kernel: Kernel, values: list[bytes | None]) -> None:
    rows = read_plainly(encode(pa.record_batch({"value": pa.array(values, pa.binary())}), kernel))

    assert [row.value for row in rows] == values


def test_encoder_takes_values_alone(kernel: Kernel) -> None:
    rows = read_plainly(encode(pa.record_batch({"value": pa.array([b"a", None])}), kernel))

    assert [(row.key, row.value, row.headers) for row in rows] == [(None, b"a", ()), (None, None, ())]


@pytest.mark.parametrize("list_type", [pa.list_, pa.large_list], ids=["list", "large_list"])
def test_encoder_takes_slices_of_headers(kernel: Kernel, list_type: Any) -> None:
    lists = [[{"key": "x", "value": b"x"}], None, [{"key": "a", "value": None}, {"key": "", "value": b""}], [], None]
    headers = pa.array([*lists, *lists], list_type(HEADER)).slice(1, 7)
    record_batch = pa.record_batch({"value": pa.array([b"v"] * 7), "headers": headers})

    rows = read_plainly(encode(record_batch, kernel))

    two = (("a", None), ("", b""))
    assert [row.headers for row in rows] == [(), two, (), (), (("x", b"x"),), (), two]


def test_encoder_passes_over_headers_under_a_null(kernel: Kernel) -> None:
    children = pa.array([{"key": name, "value": b""} for name in "abcd"], HEADER).slice(1)
    headers = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3], pa.int32()), children, mask=pa.array([False, True, False])
    )

    rows = read_plainly(encode(pa.record_batch({"value": pa.array([b"v"] * 3), "headers": headers}), kernel))

    assert [row.headers for row in rows] == [(("b", b""),), (), (("d", b""),)]


def test_encoder_takes_the_fields_of_a_header_in_any_order(kernel: Kernel) -> None:
    header = pa.struct([("value", pa.large_string()), ("key", pa.large_string())])
    headers = pa.array([[{"key": "k", "value": "v"}]], pa.list_(header))

    (row,) = read_plainly(encode(pa.record_batch({"value": pa.array([b"v"]), "headers": headers}), kernel))

    assert row.headers == (("k", b"v"),)


VALUES = pa.array([b"v"])
TEXT_HEADER = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        pytest.param({"key": VALUES}, "expected value, and perhaps key", id="no value"),
        pytest.param({"value": VALUES, "topic": VALUES}, "topic", id="unknown column"),
        pytest.param({"value": pa.array([1])}, "value is int64, expected binary or string", id="number"),
        pytest.param({"value": VALUES, "key": pa.array([1.5])}, "key is double", id="key of numbers"),
        pytest.param({"value": VALUES, "headers": VALUES}, "headers is binary", id="headers of bytes"),
        pytest.param({"value": VALUES, "headers": pa.array([[b"a"]])}, "headers is list", id="headers of lists"),
        pytest.param(
            {"value": VALUES, "headers": pa.array([[{"key": "k"}]])}, "headers is list<", id="headers without value"
        ),
        pytest.param(
            {"value": VALUES, "headers": pa.array([[{"key": b"k", "value": b""}]], TEXT_HEADER)},
            "headers is list<",
            id="header keys of bytes",
        ),
    ],
)
def test_encoder_refuses_columns_it_cannot_write(columns: dict[str, pa.Array], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        encoded_size(pa.record_batch(columns))


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        pytest.param(pa.array([[None]], pa.list_(HEADER)), "a header, or the key of one, is null", id="null header"),
        pytest.param(
            pa.array([[{"key": None, "value": b""}]], pa.list_(HEADER)), "the key of one, is null", id="null key"
        ),
        pytest.param(
            pa.ListArray.from_arrays(
                pa.array([0, 1], pa.int32()),
                pa.StructArray.from_arrays(
                    [pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers()), VALUES], fields=list(HEADER)
                ),
            ),
            "Invalid UTF8",
            id="key that is not UTF-8",
        ),
    ],
)
def test_encoder_refuses_headers_that_no_reader_would_take(headers: pa.Array, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoded_size(pa.record_batch({"value": VALUES, "headers": headers}))


@pytest.mark.parametrize("record_batches", [[], pa.record_batch({"value": VALUES}).slice(1)], ids=["none", "empty"])
def test_encoder_refuses_to_make_a_batch_of_no_rows(kernel: Kernel, record_batches: Any) -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode(record_batches, kernel)


@given(written=rows)
@settings(max_examples=60, deadline=None)
def test_rows_are_unchanged_after_encode_and_decode(kernel: Kernel, written: list[Row]) -> None:
    batch = encode(rows_to_write(written), kernel)

    decoded = decode(batch, start_offset=0, end_offset=len(written), headers=True, kernel=kernel)

    assert decoded_rows(decoded) == written
