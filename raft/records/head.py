"""What the first bytes of a stored batch say of it, without the records behind them.

Unlike `raft.records.header.read_header`, this needs no more than the head itself: a batch of several MiB is described
by 61 bytes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header import CONTROL, HEADER, MAGIC
from raft.types import Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHead:
    """The head of a stored batch.

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


def read_head(buffer: bytes) -> BatchHead:
    """Return the head of the batch that `buffer` begins with.

    Raises:
        DecodeError: fewer bytes than a head takes, or another magic.
    """
    if len(buffer) < HEADER.size:
        raise DecodeError(f"batch head of {len(buffer)} bytes; it takes {HEADER.size}")
    base_offset, _length, epoch, magic, checksum, attributes, last_offset_delta, *_ = HEADER.unpack_from(buffer)
    if magic != MAGIC:
        raise DecodeError(f"batch of magic {magic}; only {MAGIC} is known")
    return BatchHead(
        end_offset=Offset(base_offset + last_offset_delta + 1),
        epoch=Epoch(epoch),
        checksum=checksum,
        is_control=bool(attributes & CONTROL),
    )
