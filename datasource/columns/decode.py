"""Decodes a fetch response into Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from datasource.columns.aborted import aborted_batches
from datasource.columns.batch_table import Batches, read_batch_table
from datasource.columns.kernel import KERNEL, Kernel
from datasource.columns.schema import header_lists, read_schema
from raft.client import AbortedFilter
from raft.errors import DecodeError
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, decompress
from raft.records.header_fields import COMPRESSION_MASK, CONTROL
from raft.types import Offset

DEFAULT_MAX_ARROW_BYTES = 128 << 20
"""Most bytes of records in one Arrow record batch; its offsets are int32, so it must stay far below 2 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """The content of a fetch response.

    Fields:
        next_offset: the offset after its last whole batch, from which to fetch next; None if it has no whole batch.
        record_batches: the rows of the range in the order of their offsets; can be iterated once. Each record batch is
            decompressed and decoded when it is taken, so only one is in memory at a time.
    """

    next_offset: Offset | None
    record_batches: Iterator[pa.RecordBatch]


def decode(
    data: bytes,
    *,
    start_offset: int,
    end_offset: int,
    headers: bool = False,
    control: bool = False,
    aborted: AbortedFilter | None = None,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    max_arrow_bytes: int = DEFAULT_MAX_ARROW_BYTES,
    kernel: Kernel = KERNEL,
) -> Decoded:
    """Decode the records of a fetch response by columns, as `read_schema(headers=..., control=...)`.

    The checksum of every batch is checked. A partial batch at the end is ignored, because leaders limit responses to a
    size. Rows are copies; `data` is not kept.

    Args:
        data: batches one after the other, from a fetch response.
        start_offset: rows before it are left out.
        end_offset: rows at it and after it are left out.
        headers: with the column `headers`.
        control: with control records as rows, and the column `is_control`; otherwise they are left out.
        aborted: finds the records of aborted transactions, which are left out; None if there are none.
        max_decompressed_bytes: limit on the decompressed size of one batch.
        max_arrow_bytes: most bytes of records in one record batch; a larger batch is not split.
        kernel: tests compare its results with those of another one.

    Raises:
        CorruptBatchError: a batch has a wrong checksum.
        DecodeError: here or while iterating, a batch or one of its records is malformed, exceeds a limit, or has a
            timestamp that Spark cannot represent. Names the offset.
    """
    assert max(max_arrow_bytes, max_decompressed_bytes) < 1 << 31, "Arrow's offsets have 32 bits"
    batches, next_offset = read_batch_table(data)
    is_wanted = batches["base_offset"] + batches["last_offset_delta"] >= start_offset
    is_wanted &= batches["base_offset"] < end_offset
    if aborted is not None:
        is_wanted &= ~aborted_batches(data, batches, aborted)
    if not control:
        is_wanted &= batches["attributes"] & CONTROL == 0
    parts = _parts(data, batches[is_wanted], max_arrow_bytes, max_decompressed_bytes)
    record_batches = _record_batches(parts, kernel, start_offset, end_offset, headers=headers, control=control)
    return Decoded(next_offset=next_offset, record_batches=record_batches)


def _record_batches(
    parts: Iterator[tuple[bytes, Batches]],
    kernel: Kernel,
    start_offset: int,
    end_offset: int,
    *,
    headers: bool,
    control: bool,
) -> Iterator[pa.RecordBatch]:
    schema = read_schema(headers=headers, control=control)
    for data, batches in parts:
        columns = kernel.decode(data, batches, start_offset=start_offset, end_offset=end_offset, headers=headers)
        if control:
            columns.append(pa.array(np.repeat(batches["attributes"] & CONTROL != 0, batches["row_count"])))
        record_batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        if headers:
            record_batch = _with_text_keys(record_batch)
        if record_batch.num_rows:
            yield record_batch


def _parts(
    data: bytes, batches: Batches, max_arrow_bytes: int, max_decompressed_bytes: int
) -> Iterator[tuple[bytes, Batches]]:
    """Yield the parts that become one record batch each: decompressed records, and the batches that point to them."""
    is_compressed = batches["attributes"] & COMPRESSION_MASK != 0
    size = int((batches["records_end"] - batches["records_start"]).sum())
    if not is_compressed.any() and size <= max_arrow_bytes:
        if len(batches):
            yield data, batches
        return
    sections: list[bytes | memoryview] = []
    first, size = 0, 0
    for index in range(len(batches)):
        section = _section(data, batches[index], max_decompressed_bytes)
        if sections and size + len(section) > max_arrow_bytes:
            yield _joined(sections, batches[first:index])
            sections, first, size = [], index, 0
        sections.append(section)
        size += len(section)
    yield _joined(sections, batches[first:])


def _section(data: bytes, batch: np.void, max_decompressed_bytes: int) -> bytes | memoryview:
    """Return the records of one batch, decompressed."""
    section = memoryview(data)[batch["records_start"] : batch["records_end"]]
    codec = int(batch["attributes"]) & COMPRESSION_MASK
    if not codec:
        return section
    try:
        return decompress(codec, bytes(section), max_bytes=max_decompressed_bytes)
    except DecodeError as error:
        raise DecodeError(f"batch at offset {batch['base_offset']}: {error}") from error


def _joined(sections: list[bytes | memoryview], batches: Batches) -> tuple[bytes, Batches]:
    """Join the records of some batches, and return them with batches that point to them."""
    sizes = np.array([len(section) for section in sections], np.int64)
    batches["records_end"] = np.cumsum(sizes)
    batches["records_start"] = batches["records_end"] - sizes
    return b"".join(sections), batches


def _with_text_keys(record_batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the record batch with valid UTF-8 in header keys: invalid bytes become U+FFFD, as in Java's clients.

    Each byte of an encoded surrogate becomes one U+FFFD, as everywhere in Python; in Java all three become one.
    """
    headers = record_batch.column("headers")
    keys = headers.values.field("key")
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        # The kernel does not check the bytes of a string column. A view returns them unchanged, a cast would fail.
        mended = [key.decode(errors="replace") for key in keys.view(pa.binary()).to_pylist()]
        list_offsets = headers.offsets.buffers()[1]
        column = header_lists(list_offsets, pa.array(mended, pa.string()), headers.values.field("value"))
        position = record_batch.schema.get_field_index("headers")
        return record_batch.set_column(position, record_batch.schema.field(position), column)
    return record_batch
