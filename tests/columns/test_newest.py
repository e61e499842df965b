"""The newest row of each key, compared with a dictionary (READ-8)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource.columns import read_schema
from datasource.columns.kernel import KERNEL, Kernel
from datasource.columns.newest import PIECE_BYTES, NewestRows
from tests.columns.batches import header_lists
from tests.columns.rows import Headers, Row, arrow_rows
from tests.oracles.kernel import PythonKernel

Found = list[list[tuple[bytes | None, bytes | None, Headers]]]
"""Pieces of records: key, value and headers."""

keys = st.none() | st.sampled_from([b"", b"a", b"b", b"\xff\x00", b"a longer key"]) | st.binary(max_size=3)
records = st.tuples(keys, st.none() | st.binary(max_size=4), header_lists)
pieces = st.lists(st.lists(records, max_size=12), max_size=8)


def rows_of(
    found: list[list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]],
) -> list[list[Row]]:
    """Give the records offsets, with gaps, and what depends on them."""
    rows: list[list[Row]] = []
    offset = 0
    for piece in found:
        rows.append([])
        for key, value, headers in piece:
            offset += 1 + len(headers)
            rows[-1].append(
                Row(key=key, value=value, offset=offset, timestamp_ms=7 * offset, epoch=offset // 9, headers=headers)
            )
    return rows


def arrow(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [
            {
                "key": row.key,
                "value": row.value,
                "offset": row.offset,
                "timestamp": row.timestamp_ms * 1000,
                "epoch": row.epoch,
                "headers": [{"key": key, "value": value} for key, value in row.headers] or None,
            }
            for row in rows
        ],
        schema=read_schema(headers=True),
    )


def newest(rows: list[list[Row]], **settings: object) -> list[Row]:
    found = NewestRows(**settings)  # type: ignore[arg-type]
    for piece in rows:
        found.add(arrow(piece))
    return [row for record_batch in found.record_batches() for row in arrow_rows(record_batch)]


def model(rows: list[list[Row]]) -> list[Row]:
    state = {row.key: row for piece in rows for row in piece if row.key is not None}
    return sorted((row for row in state.values() if row.value is not None), key=lambda row: row.offset)


@pytest.mark.rule("READ-8")
@given(found=pieces, least_rows=st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_newest_rows_are_those_of_a_dictionary(kernel: Kernel, found: Found, least_rows: int) -> None:
    rows = rows_of(found)

    assert newest(rows, least_rows=least_rows, kernel=kernel) == model(rows)


@given(found=pieces, shares=st.integers(2, 5))
@settings(max_examples=100, deadline=None)
def test_shares_are_disjoint_and_make_the_whole(kernel: Kernel, found: Found, shares: int) -> None:
    rows = rows_of(found)

    parts = [newest(rows, share=share, shares=shares, least_rows=3, kernel=kernel) for share in range(shares)]

    assert sorted((row for part in parts for row in part), key=lambda row: row.offset) == model(rows)


@given(found=st.lists(st.none() | st.binary(max_size=40)), first=st.integers(0, 5))
@settings(deadline=None)
def test_kernels_give_a_key_the_same_hash(found: list[bytes | None], first: int) -> None:
    column = pa.array(found, pa.binary()).slice(first)

    compiled = KERNEL.key_hashes(column)

    assert compiled.tolist() == PythonKernel().key_hashes(column).tolist()
    assert len(compiled) == len(column)


@pytest.mark.parametrize(
    ("key", "expected"), [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)], ids=["none", "a", "foobar"]
)
def test_hash_is_the_one_of_fnv(kernel: Kernel, key: bytes, expected: int) -> None:
    # Source: the test vectors of draft-eastlake-fnv.
    assert kernel.key_hashes(pa.array([key], pa.binary())).tolist() == [expected]


def test_rows_before_a_clear_are_forgotten() -> None:
    rows = rows_of([[(b"a", b"1", ()), (b"b", b"1", ())], [(b"b", b"2", ())]])
    found = NewestRows(least_rows=1)
    found.add(arrow(rows[0]))

    found.clear()
    found.add(arrow(rows[1]))

    assert [row for each in found.record_batches() for row in arrow_rows(each)] == rows[1]


def test_memory_follows_the_rows_that_are_left_and_not_those_that_came() -> None:
    found = NewestRows(least_rows=100)
    value = b"v" * 1000
    offset, largest = 0, 0
    for _ in range(200):
        piece = [
            Row(key=b"%d" % (at % 50), value=value, offset=offset + at, timestamp_ms=0, epoch=0) for at in range(100)
        ]
        offset += len(piece)
        found.add(arrow(piece))
        largest = max(largest, sum(each.nbytes for each in (*found._kept, *found._added)))

    assert largest < 400 * len(value), "20,000 rows came, of 50 keys"


def test_large_state_comes_in_pieces() -> None:
    found = NewestRows()
    found.add(
        arrow([Row(key=b"%d" % at, value=b"v" * 100_000, offset=at, timestamp_ms=0, epoch=0) for at in range(200)])
    )

    sizes = [record_batch.nbytes for record_batch in found.record_batches()]

    assert len(sizes) > 1
    assert max(sizes) < 2 * PIECE_BYTES
