"""Planning a client's next batch: where it starts and ends in the committed log, and what lies before these places."""

from __future__ import annotations

from raft.storage.data_records import end_of_data
from raft.storage.log import Log
from raft.types import Offset
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest, LogPlace


def plan_batch(log: Log, asked: BatchPlanRequest, high_watermark: Offset) -> BatchPlan:
    """Plan a batch, on the thread of the log.

    Args:
        log: of this node.
        asked: where the batch is to start, and how much it may hold.
        high_watermark: everything below is committed.

    Returns:
        The bounds of the committed log; start and end of the batch too, where the start lies within the bounds.
    """
    bounds = BatchPlan(log_start_offset=log.start_offset, high_watermark=high_watermark)
    if not log.start_offset <= asked.start_offset <= high_watermark:
        return bounds
    start = Offset(asked.start_offset)
    # An end before the start is taken for the start: the batch is empty.
    end = max(start, high_watermark if asked.end_offset < 0 else Offset(min(asked.end_offset, high_watermark)))
    if asked.max_records > 0 and start < end:
        end = end_of_data(log, start_offset=start, max_records=asked.max_records, end_offset=end)
    return BatchPlan(
        log_start_offset=bounds.log_start_offset,
        high_watermark=bounds.high_watermark,
        start=_place(log, start),
        end=_place(log, end),
    )


def _place(log: Log, offset: Offset) -> LogPlace:
    if offset == log.start_offset:
        # The record before is in no log, or in a snapshot, which keeps its epoch but not its batch.
        return LogPlace(offset=offset, epoch=log.start.epoch)
    header = log.header_of(Offset(offset - 1))
    return LogPlace(offset=offset, epoch=header.epoch, checksum=header.checksum)
