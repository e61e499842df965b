"""Batches to decode: made by the record-at-a-time code, by aiokafka, or changed and given a right checksum again."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import strategies as st

from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Epoch, Offset
from tests.columns.rows import Row
from tests.node.harness.batches import sealed

HEADER_SIZE = 61
NOW_MS = 1_760_000_000_000


def batch_of(
    *values: bytes | None, base_offset: int = 0, epoch: int = 1, compression: Compression = Compression.NONE
) -> bytes:
    """Return a batch of records that have nothing but a value."""
    records = [Record(value=value, timestamp_ms=NOW_MS) for value in values]
    return build_batch(records, base_offset=Offset(base_offset), epoch=Epoch(epoch), compression=compression)


def batch_of_rows(rows: Sequence[Row], compression: Compression = Compression.NONE) -> bytes:
    """Return a batch of rows that have one epoch and consecutive offsets."""
    records = [Record(key=row.key, value=row.value, headers=row.headers, timestamp_ms=row.timestamp_ms) for row in rows]
    base_offset, epoch = Offset(rows[0].offset), Epoch(rows[0].epoch)
    return build_batch(records, base_offset=base_offset, epoch=epoch, compression=compression)


def batch_by_aiokafka(rows: Sequence[Row]) -> bytes:
    """Return the batch that aiokafka's producer makes; base offset 0, epoch 0."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for index, row in enumerate(rows):
        assert builder.append(index, row.timestamp_ms, row.key, row.value, list(row.headers)) is not None
    return bytes(builder.build())


def with_field(batch: bytes, form: str, position: int, value: int) -> bytes:
    """Return the batch with one field of its header changed, and a right checksum."""
    changed = bytearray(batch)
    struct.pack_into(form, changed, position, value)
    return sealed(changed)


def with_records(batch: bytes, records: bytes) -> bytes:
    """Return the batch with other bytes in place of its records, and a right checksum."""
    return sealed(batch[:HEADER_SIZE] + records)


contents = st.one_of(
    st.none(),
    st.binary(max_size=24),
    # Lengths around which the varint of a length grows by a byte.
    st.sampled_from([0, 63, 64, 8191, 8192]).map(lambda size: b"v" * size),
)
header_lists = st.lists(st.tuples(st.text(max_size=6), st.none() | st.binary(max_size=8)), max_size=3).map(tuple)
timestamps_ms = st.one_of(st.integers(NOW_MS - 10**6, NOW_MS + 10**6), st.integers(-(2**50), 2**50))


@st.composite
def row_batches(draw: st.DrawFn) -> list[list[Row]]:
    """Rows of some batches: gaps between them as compaction leaves, epochs that rise."""
    batches = []
    offset, epoch = draw(st.integers(0, 2**40)), draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 4))):
        rows = [
            Row(
                key=draw(contents),
                value=draw(contents),
                offset=offset + index,
                timestamp_ms=draw(timestamps_ms),
                epoch=epoch,
                headers=draw(header_lists),
            )
            for index in range(draw(st.integers(1, 6)))
        ]
        batches.append(rows)
        offset += len(rows) + draw(st.integers(0, 3))
        epoch += draw(st.integers(0, 1))
    return batches
