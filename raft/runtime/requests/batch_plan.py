"""The plan of a client's next batch: where it starts and ends in the committed log (CLIENT-15)."""

from __future__ import annotations

from collections.abc import Generator

from raft.epoch_cache import EpochCache
from raft.storage.data_records import end_of_data
from raft.storage.log import Log
from raft.storage.sizes import end_of_bytes
from raft.types import Offset
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest, LogPosition


def plan_batch(log: Log, request: BatchPlanRequest, last_stable_offset: Offset) -> Generator[None, None, BatchPlan]:
    """Plan a batch. Runs as a job of the disk, in pieces: it yields between them.

    Args:
        log: the log of this node.
        request: where the batch starts, and how many records and bytes it may hold.
        last_stable_offset: everything below is committed, and no transaction is open there.

    Returns:
        The bounds of the committed log; also the start and the end of the batch, if the start is within the bounds.
    """
    bounds = BatchPlan(log_start_offset=log.readable_from, last_stable_offset=last_stable_offset)
    if not log.readable_from <= request.start_offset <= last_stable_offset:
        return bounds
    start, log_start = Offset(request.start_offset), log.start
    # If the end is before the start, the batch is empty.
    end = max(
        start, last_stable_offset if request.end_offset < 0 else Offset(min(request.end_offset, last_stable_offset))
    )
    if request.max_records > 0 and start < end:
        end = yield from end_of_data(log, start_offset=start, max_records=request.max_records, end_offset=end)
        if log.start != log_start:
            # A snapshot has replaced the start of the log between two pieces.
            return (yield from plan_batch(log, request, last_stable_offset))
    size_bytes = -1
    if request.max_bytes > 0:
        end, size_bytes = end_of_bytes(log, start_offset=start, max_bytes=request.max_bytes, end_offset=end)
    return BatchPlan(
        log_start_offset=bounds.log_start_offset,
        last_stable_offset=bounds.last_stable_offset,
        start=_place(log, start),
        end=_place(log, end),
        size_bytes=size_bytes,
    )


def _place(log: Log, offset: Offset) -> LogPosition:
    if offset <= log.start_offset:
        # The record before this offset does not exist, or a snapshot replaces it: that has its epoch, not its batch.
        return LogPosition(offset=offset, epoch=EpochCache(log.epochs).epoch_before(offset) or log.start.epoch)
    header = log.header_of(Offset(offset - 1))
    return LogPosition(offset=offset, epoch=header.epoch, checksum=header.checksum)
