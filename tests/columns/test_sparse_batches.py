"""Batches of a compacted log: gaps before, between and behind the records, batches without records (READ-7)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasource.columns import decode
from datasource.columns.kernel import Kernel
from raft.records.batch import build_empty_batch, build_sparse_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Epoch, Offset
from tests.columns.batches import NOW_MS, contents, header_lists
from tests.columns.rows import EVERYTHING, Row, decode_all, decoded_rows

gaps = st.one_of(st.integers(0, 3), st.integers(0, 1 << 20))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseBatch:
    """A batch with its range of offsets; it may have no rows."""

    rows: tuple[Row, ...]
    base_offset: int
    last_offset: int
    epoch: int
    codec: Compression = Compression.NONE
    delete_horizon_ms: int | None = None

    def bytes(self) -> bytes:
        base, epoch = Offset(self.base_offset), Epoch(self.epoch)
        if not self.rows:
            return build_empty_batch(base_offset=base, last_offset_delta=self.last_offset - base, epoch=epoch)
        records = [
            Record(
                key=row.key,
                value=row.value,
                headers=row.headers,
                timestamp_ms=row.timestamp_ms,
                offset=Offset(row.offset),
            )
            for row in self.rows
        ]
        return build_sparse_batch(
            records,
            base_offset=base,
            last_offset=Offset(self.last_offset),
            epoch=epoch,
            compression=self.codec,
            delete_horizon_ms=self.delete_horizon_ms,
        )


@st.composite
def sparse_batches(draw: st.DrawFn) -> list[SparseBatch]:
    batches = []
    offset, epoch = draw(gaps), draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 5))):
        base_offset = offset + draw(gaps)
        offset = base_offset
        rows = []
        for _ in range(draw(st.integers(0, 4))):
            offset += draw(gaps)
            rows.append(
                Row(
                    key=draw(contents),
                    value=draw(contents),
                    offset=offset,
                    timestamp_ms=NOW_MS + draw(st.integers(-99, 99)),
                    epoch=epoch,
                    headers=draw(header_lists),
                )
            )
            offset += 1
        last_offset = max(offset - 1, base_offset) + draw(gaps)
        batches.append(
            SparseBatch(
                rows=tuple(rows),
                base_offset=base_offset,
                last_offset=last_offset,
                epoch=epoch,
                codec=draw(st.sampled_from([Compression.NONE, Compression.NONE, Compression.ZSTD])),
                delete_horizon_ms=draw(st.none() | st.just(NOW_MS + 10**9)),
            )
        )
        offset = last_offset + 1
        epoch += draw(st.integers(0, 1))
    return batches


@pytest.mark.rule("READ-7")
@given(batches=sparse_batches())
@settings(max_examples=150, deadline=None)
def test_decoder_keeps_the_offsets_of_sparse_batches(kernel: Kernel, batches: list[SparseBatch]) -> None:
    decoded = decode_all(b"".join(batch.bytes() for batch in batches), kernel)

    assert decoded_rows(decoded) == [row for batch in batches for row in batch.rows]
    assert decoded.next_offset == (batches[-1].last_offset + 1 if batches else None)


@pytest.mark.rule("READ-7")
@given(batches=sparse_batches(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_decoder_cuts_sparse_batches_to_a_range_whose_bounds_may_lie_in_gaps(
    kernel: Kernel, batches: list[SparseBatch], data: st.DataObject
) -> None:
    first = batches[0].base_offset if batches else 0
    bounds = sorted({offset for batch in batches for offset in (batch.base_offset, batch.last_offset, first)})
    near = st.sampled_from(bounds or [0]).flatmap(lambda bound: st.integers(bound - 2, bound + 2))
    start, end = data.draw(near), data.draw(near)

    decoded = decode(
        b"".join(batch.bytes() for batch in batches), start_offset=start, end_offset=end, headers=True, kernel=kernel
    )

    assert decoded_rows(decoded) == [row for batch in batches for row in batch.rows if start <= row.offset < end]
    assert decoded.next_offset == (batches[-1].last_offset + 1 if batches else None)


@pytest.mark.rule("READ-7")
def test_batches_without_records_give_no_rows_and_the_offset_behind_them(kernel: Kernel) -> None:
    empty = SparseBatch(rows=(), base_offset=5, last_offset=90, epoch=1)

    decoded = decode(empty.bytes(), start_offset=0, end_offset=EVERYTHING, kernel=kernel)

    assert list(decoded.record_batches) == []
    assert decoded.next_offset == 91
