"""Plans the next micro-batch, and checks that the log is still the one of the checkpoint.

Committed records never change. They are removed only where the log is compacted, and where they are aged out. A log
that ends before the checkpoint, starts after it, has other epochs, or has another checksum in the last batch before it,
is another log or has lost records. This is data loss: `failOnDataLoss` decides whether the query ends, or goes on with
a warning. In the compacted part of a log nothing is lost, and its batches are not those that were read, so epochs
decide alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from datasource.limits import BatchLimits
from datasource.offsets import Reached
from datasource.options import ReadOptions
from datasource.read_deadline import ReadDeadline
from datasource.read_plan import AGED_OUT, DataLossError, data_loss
from raft.client import BatchPlan, Client, LogPosition
from raft.errors import ConfigError, LowerEpochError
from raft.types import Epoch, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """A micro-batch, and where the log ends.

    Fields:
        start, end: the bounds of the batch.
        log_end: the last stable offset.
    """

    start: LogPosition
    end: LogPosition
    log_end: Offset


def first_batch(client: Client, start: Offset, limits: BatchLimits) -> MicroBatch:
    """Plan the first batch of a query.

    Args:
        client: of the quorum.
        start: where it starts; an offset outside of the committed log is moved to its start or end.
        limits: of the batch.

    Raises:
        DataLossError: the log ends before the target.
        QuorumUnavailableError: no leader responded in time.
    """
    plan = _ask(client, start, client.epoch, limits)
    _require_target(plan, limits)
    bounded = Offset(min(max(start, plan.log_start_offset), plan.last_stable_offset))
    if bounded != start:
        plan = _ask(client, bounded, client.epoch, limits)
    place = plan.start or LogPosition(offset=bounded, epoch=epoch_before(client, bounded, Epoch(0)))
    return MicroBatch(start=place, end=_end(client, plan, place, limits), log_end=plan.last_stable_offset)


def next_batch(client: Client, options: ReadOptions, reached: Reached, limits: BatchLimits) -> MicroBatch:
    """Plan the batch after the last one. It starts where that one ended, unless the log has changed there.

    Args:
        client: of the quorum.
        options: of the read.
        reached: where the last batch ended.
        limits: of the batch.

    Raises:
        DataLossError: the log has changed, and `failOnDataLoss` is true; or it ends before the target.
        ConfigError: the log belongs to another cluster.
        QuorumUnavailableError: no leader responded in time.
    """
    plan = _plan_after(client, options, reached, limits)
    if reached.cluster_id != client.cluster_id:
        raise ConfigError(
            f"the quorum has cluster id {client.cluster_id}, expected {reached.cluster_id} as in the checkpoint: "
            "start a new query with a new checkpoint to read it"
        )
    _require_target(plan, limits)
    loss = _find_loss(plan, reached.point)
    if loss is None:
        end = _end(client, plan, reached.point, limits)
        return MicroBatch(start=reached.point, end=end, log_end=plan.last_stable_offset)
    data_loss(options, loss.message)
    return first_batch(client, loss.goes_on_at, limits)


def _ask(client: Client, start: Offset, epoch: Epoch, limits: BatchLimits) -> BatchPlan:
    max_records = None if limits.counts_control_records else limits.max_rows
    return client.plan_batch(
        start, epoch, max_records=max_records, max_bytes=limits.max_bytes, end_offset=limits.end_offset(start)
    )


def _plan_after(client: Client, options: ReadOptions, reached: Reached, limits: BatchLimits) -> BatchPlan:
    """Request the plan; if the log ends before the checkpoint, request it again, for as long as a call may take.

    A leader behind a partition returns an old end until it resigns. Its epoch may be that of the last record read,
    because a later leader committed that record.
    """
    deadline = ReadDeadline(options.client)
    point = reached.point
    while True:
        try:
            plan = _ask(client, point.offset, point.epoch, limits)
        except LowerEpochError as error:
            data_loss(options, f"was the log replaced? {error}")
            client.start_over()
            continue
        is_behind = reached.cluster_id == client.cluster_id and plan.last_stable_offset < point.offset
        if not is_behind or deadline.is_over:
            return plan
        deadline.pause()


def _require_target(plan: BatchPlan, limits: BatchLimits) -> None:
    """Check that an AvailableNow query can reach its target; `failOnDataLoss` does not matter, as in Kafka's source.

    If the query ended earlier, it would seem to have read everything that was available.

    Raises:
        DataLossError: the log ends before the target.
    """
    if limits.target is not None and plan.last_stable_offset < limits.target:
        raise DataLossError(
            f"the log ends at {plan.last_stable_offset}, but it ended at {limits.target} when this query with "
            "Trigger.AvailableNow started: records are lost. Start the query again to read the others"
        )


def _end(client: Client, plan: BatchPlan, start: LogPosition, limits: BatchLimits) -> LogPosition:
    """Return the end of the batch: from the plan, or by counting offsets if the plan has none.

    Raises:
        ConfigError: bytes are limited, and the leader cannot count them.
    """
    if limits.max_bytes is not None and plan.size_bytes is None and plan.last_stable_offset > start.offset:
        raise ConfigError(
            "maxBytesPerTrigger: the leader cannot count bytes, because it runs Apache Kafka; use maxOffsetsPerTrigger"
        )
    if plan.end is not None:
        return start if plan.end.offset <= start.offset else plan.end
    limit = limits.without_counting(start.offset)
    end = plan.last_stable_offset if limit is None else min(plan.last_stable_offset, limit)
    if end <= start.offset:
        return start
    return LogPosition(offset=end, epoch=epoch_before(client, end, start.epoch))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """What is lost, in words, and the offset at which a query that may lose data goes on."""

    message: str
    goes_on_at: Offset


def _find_loss(plan: BatchPlan, point: LogPosition) -> _Loss | None:
    """Compare the log with the point of the checkpoint; return None if it can be the same log."""
    if point.offset > plan.last_stable_offset:
        return _Loss(
            message=f"the log ends at {plan.last_stable_offset}, before the checkpoint's offset {point.offset}: "
            "was it replaced?",
            goes_on_at=plan.last_stable_offset,
        )
    if point.offset == 0:
        return None
    if point.offset < plan.log_start_offset:
        return _Loss(
            message=f"offsets {point.offset} to {plan.log_start_offset} are gone: "
            f"the log starts at {plan.log_start_offset}. {AGED_OUT}",
            goes_on_at=plan.log_start_offset,
        )
    shared = plan.epoch_end
    if not _may_be_in(point, shared):
        at = "before that epoch" if shared is None else f"at offset {shared.offset} of epoch {shared.epoch}"
        return _Loss(
            message=f"the log is not the one of the checkpoint (offset {point.offset}, epoch {point.epoch}): "
            f"they differ {at}",
            goes_on_at=Offset(min(point.offset, shared.offset if shared is not None else plan.log_start_offset)),
        )
    found = plan.start
    if found is None or point.checksum is None or found.checksum == point.checksum:
        return None
    if found.checksum is None:
        # The batch was compacted away. A checkpoint with a checksum has the epoch of the record itself.
        if found.epoch == point.epoch:
            return None
        return _Loss(
            message=f"the log is not the one of the checkpoint: the record before offset {point.offset} has epoch "
            f"{found.epoch}, expected {point.epoch}; was the log replaced?",
            goes_on_at=point.offset,
        )
    # The offset at which the logs differ is unknown. From the same offset on no row of the old log is read twice.
    return _Loss(
        message=f"the log is not the one of the checkpoint: the record batch before offset {point.offset} has checksum "
        f"{found.checksum}, expected {point.checksum}; was the log replaced?",
        goes_on_at=point.offset,
    )


def _may_be_in(point: LogPosition, end: OffsetAndEpoch | None) -> bool:
    """Whether a log has this point, judging by the end of its epoch in the log."""
    if end is None:
        return False
    if end.epoch > point.epoch:
        # A controller of Apache Kafka does not return the ends of old epochs, but the end of a snapshot. The last
        # record of the snapshot has a later epoch than the point, so the point lies before it; more is not known.
        return point.offset < end.offset
    return end.epoch == point.epoch and end.offset >= point.offset


def epoch_before(client: Client, offset: Offset, at_least: Epoch) -> Epoch:
    """Return the epoch of the record before `offset`: with one request if it is `at_least`, otherwise by a search.

    Controllers of Apache Kafka return no epoch before that of their oldest snapshot: for an older record, the result is
    the epoch of the snapshot.

    Args:
        client: of the quorum.
        offset: a committed offset.
        at_least: the lowest epoch that the record can have.
    """
    if offset == 0:
        return Epoch(0)
    lowest, highest = at_least, client.epoch
    asked = lowest  # Most often the epoch has not changed, and the first request is the last.
    while lowest < highest:
        assert lowest <= asked < highest, "each response narrows the range"
        end = client.end_of_epoch(asked)
        if end is not None and end.epoch <= asked and end.offset >= offset:
            highest = max(end.epoch, lowest)
        else:
            lowest = Epoch(asked + 1)
        asked = Epoch((lowest + highest) // 2)
    return lowest


def has_rows(client: Client, start: LogPosition, limits: BatchLimits, *, at_least: int) -> bool:
    """Whether a batch from `start` on would have so many rows if only the end of the log limited it.

    Args:
        client: of the quorum.
        start: where the batch starts.
        limits: of the batch; only whether control records count.
        at_least: the rows, 1 or more.
    """
    fewer = BatchLimits(max_rows=at_least - 1 or None, counts_control_records=limits.counts_control_records)
    plan = _ask(client, start.offset, start.epoch, fewer)
    if plan.last_stable_offset - start.offset < at_least:
        return False
    return at_least == 1 or _end(client, plan, start, fewer).offset < plan.last_stable_offset
