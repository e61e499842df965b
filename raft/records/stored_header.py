"""The header of a stored batch, from its first 61 bytes alone.

`raft.records.header.read_header` needs the whole batch, because it reads control types and content checksums too. This
one tells less, and reads no more than the header of a batch of several MiB.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header import CONTROL, HEADER, MAGIC
from raft.types import Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHeader:
    """What the header of a stored batch says.

    Fields:
        end_offset: one past its last record.
        epoch: leader epoch it was appended in.
        checksum: the stored CRC-32C, of everything from the attributes on. Offset and epoch are not covered.
        is_control: whether it holds control records instead of data.
    """

    end_offset: Offset
    epoch: Epoch
    checksum: int
    is_control: bool


def read_stored_header(buffer: bytes) -> StoredHeader:
    """Return the header of the batch that `buffer` begins with.

    Raises:
        DecodeError: fewer bytes than a header has, or another magic.
    """
    if len(buffer) < HEADER.size:
        raise DecodeError(f"batch header of {len(buffer)} bytes, expected {HEADER.size}")
    base_offset, _length, epoch, magic, checksum, attributes, last_offset_delta, *_ = HEADER.unpack_from(buffer)
    if magic != MAGIC:
        raise DecodeError(f"batch of magic {magic}, expected {MAGIC}")
    return StoredHeader(
        end_offset=Offset(base_offset + last_offset_delta + 1),
        epoch=Epoch(epoch),
        checksum=checksum,
        is_control=bool(attributes & CONTROL),
    )
