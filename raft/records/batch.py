"""Whole batches, one record at a time: for tools, tests and small appends. `datasource.columns` is for many records.

Source: rules LOG-1 to LOG-5; Kafka MemoryRecordsBuilder, DefaultRecordBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, compress
from raft.records.header import read_header
from raft.records.header_fields import CONTROL, DELETE_HORIZON, TRANSACTIONAL, make_header
from raft.records.record import NO_TIMESTAMP_MS, Record, read_records_section, write_record
from raft.records.section import section_of
from raft.types import Epoch, Offset

UNPLACED_EPOCH = Epoch(-1)
"""The leader epoch of a batch that no leader has appended."""


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: Offset = Offset(0),
    epoch: Epoch = UNPLACED_EPOCH,
    compression: Compression = Compression.NONE,
    producer_id: int | None = None,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """Return the bytes of a batch with these records, in this order, at consecutive offsets.

    Args:
        records: one or more; their timestamps are kept (CreateTime), their offsets are ignored.
        base_offset: offset of the first record.
        epoch: leader epoch; by default the one that clients write.
        compression: codec for the records.
        producer_id: the writer, which producer_epoch and base_sequence belong to; None for none.
        producer_epoch: -1 for none.
        base_sequence: -1 for none.
        is_transactional: whether it belongs to a transaction.
        is_control: whether the records are control records.
    """
    assert records, "a batch holds at least one record"
    base_timestamp_ms = records[0].timestamp_ms
    section = b"".join(
        write_record(record, offset_delta=delta, base_timestamp_ms=base_timestamp_ms)
        for delta, record in enumerate(records)
    )
    attributes = compression | (TRANSACTIONAL if is_transactional else 0) | (CONTROL if is_control else 0)
    section = compress(compression, section)
    header = make_header(
        section,
        base_offset=base_offset,
        epoch=epoch,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
        record_count=len(records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    return header + section


def build_empty_batch(
    *,
    base_offset: Offset,
    last_offset_delta: int,
    epoch: Epoch,
    timestamp_ms: int = NO_TIMESTAMP_MS,
    producer_id: int | None = None,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """Return a batch without records, which has a range of offsets nevertheless; see `raft.snapshots.state_batches`.

    Source: Kafka DefaultRecordBatch.writeEmptyHeader.
    """
    return make_header(
        b"",
        base_offset=base_offset,
        epoch=epoch,
        attributes=TRANSACTIONAL if is_transactional else 0,
        last_offset_delta=last_offset_delta,
        base_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=0,
    )


def build_sparse_batch(
    records: Sequence[Record],
    *,
    base_offset: Offset,
    last_offset: Offset,
    epoch: Epoch,
    compression: Compression = Compression.NONE,
    delete_horizon_ms: int | None = None,
    producer_id: int | None = None,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_control: bool = False,
) -> bytes:
    """Return a batch with these records at their own offsets, which may have gaps.

    Args:
        records: one or more, in the order of their offsets.
        base_offset: no higher than the first record's.
        last_offset: no lower than the last record's.
        epoch: leader epoch.
        compression: codec for the records.
        delete_horizon_ms: when the tombstones among them may be removed (KIP-534); None for no such time.
        producer_id: see `build_batch`.
        producer_epoch: -1 for none.
        base_sequence: -1 for none.
        is_control: whether the records are control records.

    Source: Kafka MemoryRecords.filterTo.
    """
    base_timestamp_ms = records[0].timestamp_ms if delete_horizon_ms is None else delete_horizon_ms
    section = b"".join(
        write_record(record, offset_delta=record.offset - base_offset, base_timestamp_ms=base_timestamp_ms)
        for record in records
    )
    section = compress(compression, section)
    header = make_header(
        section,
        base_offset=base_offset,
        epoch=epoch,
        attributes=compression | (0 if delete_horizon_ms is None else DELETE_HORIZON) | (CONTROL if is_control else 0),
        last_offset_delta=last_offset - base_offset,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
        record_count=len(records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    return header + section


def read_records(payload: bytes, *, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Yield the records of one batch, control records too, with their offsets and timestamps.

    Args:
        payload: one whole batch; its checksum is not checked.
        max_bytes: largest size of the records when decompressed.

    Raises:
        DecodeError: while iterating, if the batch or a record is malformed.
    """
    header = read_header(payload)
    section = section_of(payload, header, max_decompressed_bytes=max_bytes)
    yield from read_records_section(
        bytes(memoryview(section.data)[section.start : section.end]),
        record_count=section.record_count,
        base_offset=header.base_offset,
        last_offset_delta=section.last_offset_delta,
        base_timestamp_ms=section.base_timestamp_ms,
        append_time_ms=section.append_time_ms if section.has_append_time else None,
    )
