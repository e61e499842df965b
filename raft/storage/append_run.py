"""Batches that are written to a segment with one call to the disk."""

from __future__ import annotations

from collections.abc import Sequence

from raft.epoch_cache import EpochCache
from raft.records.header_fields import with_base_offset_and_epoch
from raft.types import Batch, BatchHeader, Epoch, Offset


def joined(run: Sequence[Batch], end_offset: Offset, epochs: EpochCache) -> tuple[bytes, Offset, EpochCache]:
    """Return the bytes of batches with their offsets and epochs in their headers, and the log's end after them.

    Args:
        run: the batches, in order and without gaps.
        end_offset: of the log before them.
        epochs: of the log before them.

    Returns:
        The bytes, and the end offset and the epochs of the log after them.
    """
    pieces: list[bytes] = []
    for batch in run:
        header = batch.header
        assert header.base_offset == end_offset, f"batch at offset {header.base_offset}, expected {end_offset}"
        assert header.size_bytes == len(batch.payload), f"{len(batch.payload)} bytes, expected {header.size_bytes}"
        end_offset = header.end_offset
        epochs = with_epoch_of(header, epochs)
        pieces.append(with_base_offset_and_epoch(batch.payload, header.base_offset, header.epoch))
    return b"".join(pieces), end_offset, epochs


def with_epoch_of(header: BatchHeader, epochs: EpochCache) -> EpochCache:
    """Return the epoch cache after one more batch, whose epoch is the last one or a later one."""
    last_epoch = epochs.last.epoch if epochs.last is not None else Epoch(0)
    assert header.epoch >= last_epoch, f"batch of epoch {header.epoch} after epoch {last_epoch}"
    return epochs.with_epoch(header.epoch, header.base_offset)
