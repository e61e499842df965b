"""The header of a stored batch, from its first 61 bytes alone.

`raft.records.header.read_header` needs the whole batch, because it reads control types and content checksums too. This
one tells less, and reads no more than the header of a batch of several MiB.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header import CONTROL, HEADER, LENGTH_END, MAGIC, TRANSACTIONAL
from raft.types import Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHeader:
    """What the header of a stored batch says.

    Fields:
        base_offset: of its first record.
        end_offset: one past its last record.
        size_bytes: of the batch.
        epoch: leader epoch it was appended in.
        checksum: the stored CRC-32C, of everything from the attributes on. Offset and epoch are not covered.
        is_control: whether it holds control records instead of data.
        is_transactional: whether it belongs to a transaction.
        producer_id: the producer; -1 for none.
        record_count: number of its records. In a snapshot it is lower than that of its offsets.
    """

    base_offset: Offset
    end_offset: Offset
    size_bytes: int
    epoch: Epoch
    checksum: int
    is_control: bool
    is_transactional: bool
    producer_id: int
    record_count: int


def read_stored_header(buffer: bytes, position: int = 0) -> StoredHeader:
    """Return the header of the batch that begins at `position`.

    Raises:
        DecodeError: fewer bytes than a header has, or another magic.
    """
    if len(buffer) - position < HEADER.size:
        raise DecodeError(f"batch header of {len(buffer) - position} bytes, expected {HEADER.size}")
    (
        base_offset,
        length,
        epoch,
        magic,
        checksum,
        attributes,
        last_offset_delta,
        _base_timestamp,
        _max_timestamp,
        producer_id,
        _producer_epoch,
        _base_sequence,
        record_count,
    ) = HEADER.unpack_from(buffer, position)
    if magic != MAGIC:
        raise DecodeError(f"batch of magic {magic}, expected {MAGIC}")
    if length < HEADER.size - LENGTH_END or last_offset_delta < 0:
        raise DecodeError(f"batch of {LENGTH_END + length} bytes with last offset delta {last_offset_delta}")
    return StoredHeader(
        base_offset=Offset(base_offset),
        end_offset=Offset(base_offset + last_offset_delta + 1),
        size_bytes=LENGTH_END + length,
        epoch=Epoch(epoch),
        checksum=checksum,
        is_control=bool(attributes & CONTROL),
        is_transactional=bool(attributes & TRANSACTIONAL),
        producer_id=producer_id,
        record_count=record_count,
    )
