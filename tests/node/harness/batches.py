"""Record batches as clients make them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from crc32c import crc32c

from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Batch


def batch_of(
    *values: bytes, producer_id: int | None = None, epoch: int = 0, sequence: int = 0, timestamp_ms: int = 1_000
) -> bytes:
    """Return one batch of these values; with a producer id it is one of an idempotent producer."""
    records = [Record(value=value, timestamp_ms=timestamp_ms) for value in values]
    if producer_id is None:
        return build_batch(records)
    return build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def batches_in(records: bytes | None) -> list[Batch]:
    """Return the batches of a Fetch response."""
    return list(read_batches(records or b""))


def values_in(records: bytes | None) -> list[bytes | None]:
    """Return the values of the data records of a Fetch response, in order."""
    return [record.value for record in records_of(batches_in(records))]


def records_of(batches: Iterable[Batch]) -> list[Record]:
    """Return the data records of batches."""
    return [record for batch in batches if not batch.header.is_control for record in read_records(batch.payload)]


def with_codec(batch: bytes, codec: int) -> bytes:
    """Return the batch with another compression codec in its header, and a valid checksum."""
    assert codec not in set(Compression), "an unknown codec"
    return resealed(batch, attributes=int.from_bytes(batch[21:23], "big") & ~0x07 | codec)


def sealed(batch: bytes | bytearray) -> bytes:
    """Return the batch with the length and the checksum that fit its content, whatever that is."""
    changed = bytearray(batch)
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return bytes(changed)


def resealed(batch: bytes, *, attributes: int | None = None, record_count: int | None = None) -> bytes:
    """Return the batch with fields of its header replaced, and a valid checksum."""
    changed = bytearray(batch)
    if attributes is not None:
        changed[21:23] = attributes.to_bytes(2, "big")
    if record_count is not None:
        changed[57:61] = record_count.to_bytes(4, "big")
    return sealed(changed)
