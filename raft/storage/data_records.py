"""Counting data records by offset: the control records between them are left out, and no data batch is looked at.

A leader appends control batches only at the beginning of its epoch, before its first data batch. So they are found at
the starts of the epochs that the log knows, and what lies between them is data.

Source: rule CLIENT-15; Kafka LeaderState.appendStartOfEpochControlRecords.
"""

from __future__ import annotations

from raft.epoch_cache import EpochCache
from raft.storage.log import Log
from raft.types import Offset

MAX_EPOCHS = 1_000
"""How many beginnings of epochs one count looks at. A count that meets more ends there: the caller gets fewer records,
and the thread of the log stays free."""


def end_of_data(log: Log, *, start_offset: Offset, max_records: int, end_offset: Offset) -> Offset:
    """Return the offset after `max_records` data records, and after the control records that follow them at once.

    Args:
        log: holds the range.
        start_offset: where counting begins.
        max_records: data records to count, at least 1.
        end_offset: latest end allowed.

    Raises:
        CorruptBatchError: the file is not what was written.
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
    """Return where the control batches end that begin at `offset`; `offset` itself if there are none."""
    while offset < end_offset and (header := log.header_of(offset)).is_control:
        offset = header.end_offset
    return offset
