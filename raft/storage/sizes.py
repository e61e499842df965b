"""Counts the bytes of batches, for a limit of bytes in a client's batch (rule CLIENT-15)."""

from __future__ import annotations

from raft.storage.log import Log
from raft.types import Offset


def end_of_bytes(log: Log, *, start_offset: Offset, max_bytes: int, end_offset: Offset) -> tuple[Offset, int]:
    """Return the end of the batches that fit within a size, and their size as they are stored.

    A batch of which only a part is between the offsets counts as a whole, because it is sent as a whole.

    Args:
        log: has the offsets from `start_offset` to `end_offset`.
        start_offset: the first batch holds it. This batch is counted even if it is larger than the limit.
        max_bytes: the limit, at least 1.
        end_offset: the result is no higher.

    Raises:
        CorruptBatchError: a file of the log is damaged.
    """
    if start_offset >= end_offset:
        return end_offset, 0
    in_snapshot = end_offset <= log.start_offset
    whole_end = log.start_offset if in_snapshot else log.header_of(Offset(end_offset - 1)).end_offset
    size_bytes = 0
    for segment in log.files_from(start_offset):
        offset = max(start_offset, segment.base_offset)
        left_bytes = max_bytes - size_bytes
        if offset >= whole_end or (size_bytes and segment.header_of(offset).size_bytes > left_bytes):
            return min(offset, end_offset), size_bytes
        span = segment.span(offset, max_bytes=left_bytes, end_offset=whole_end)
        size_bytes += len(span)
        if span.stop < segment.size_bytes:
            return min(segment.header_at(span.stop).base_offset, end_offset), size_bytes
    return end_offset, size_bytes
