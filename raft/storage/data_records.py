"""Counts data records by their offsets, without control records and without reading data batches.

A leader appends control batches only at the beginning of its epoch, before its first data batch. So all control batches
are at the start offsets in the epoch cache, and all other offsets are those of data records.

Source: rule CLIENT-15; Kafka LeaderState.appendStartOfEpochControlRecords.
"""

from __future__ import annotations

from raft.epoch_cache import EpochCache
from raft.storage.log import Log
from raft.types import Offset

MAX_EPOCHS = 1_000
"""Most epochs in one count. A range with more epochs ends there: the caller gets fewer records, and the thread of the
log is free for other work."""


def end_of_data(log: Log, *, start_offset: Offset, max_records: int, end_offset: Offset) -> Offset:
    """Return the offset after `max_records` data records, and after the control records right behind them.

    Args:
        log: has the offsets from `start_offset` to `end_offset`.
        start_offset: where the count begins.
        max_records: data records to count, at least 1.
        end_offset: the result is no higher.

    Raises:
        CorruptBatchError: a file of the log is damaged.
    """
    epochs = EpochCache(log.epochs).entries_from(start_offset)
    if len(epochs) > MAX_EPOCHS:
        end_offset = min(end_offset, epochs[MAX_EPOCHS].start_offset)
    position, left = start_offset, max_records
    for epoch in epochs[:MAX_EPOCHS]:
        data_records = max(epoch.start_offset - position, 0)
        if data_records > left or epoch.start_offset >= end_offset:
            break
        left -= data_records
        position = max(position, _end_of_control(log, epoch.start_offset, end_offset))
    return Offset(min(position + left, end_offset))


def _end_of_control(log: Log, offset: Offset, end_offset: Offset) -> Offset:
    """Return the end of the control batches that begin at `offset`; `offset` itself if there are none."""
    while offset < end_offset and (header := log.header_of(offset)).is_control:
        offset = header.end_offset
    return offset
