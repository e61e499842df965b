"""The plan of a client's next batch: where it starts and ends in the committed log (CLIENT-15)."""

from __future__ import annotations

from raft.storage.data_records import end_of_data
from raft.storage.log import Log
from raft.types import Offset
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest, LogPlace


def plan_batch(log: Log, request: BatchPlanRequest, high_watermark: Offset) -> BatchPlan:
    """Plan a batch. Runs as a job of the disk.

    Args:
        log: the log of this node.
        request: where the batch starts, and how many records it may hold.
        high_watermark: everything below is committed.

    Returns:
        The bounds of the committed log; also the start and the end of the batch, if the start is within the bounds.
    """
    bounds = BatchPlan(log_start_offset=log.start_offset, high_watermark=high_watermark)
    if not log.start_offset <= request.start_offset <= high_watermark:
        return bounds
    start = Offset(request.start_offset)
    # If the end is before the start, the batch is empty.
    end = max(start, high_watermark if request.end_offset < 0 else Offset(min(request.end_offset, high_watermark)))
    if request.max_records > 0 and start < end:
        end = end_of_data(log, start_offset=start, max_records=request.max_records, end_offset=end)
    return BatchPlan(
        log_start_offset=bounds.log_start_offset,
        high_watermark=bounds.high_watermark,
        start=_place(log, start),
        end=_place(log, end),
    )


def _place(log: Log, offset: Offset) -> LogPlace:
    if offset == log.start_offset:
        # The record before this offset does not exist, or is in a snapshot, which has its epoch but not its batch.
        return LogPlace(offset=offset, epoch=log.start.epoch)
    header = log.header_of(Offset(offset - 1))
    return LogPlace(offset=offset, epoch=header.epoch, checksum=header.checksum)
