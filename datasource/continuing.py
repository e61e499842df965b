"""Where the next micro-batch starts and ends, and whether the log is still the one of the checkpoint.

Committed records never change and are never removed. So a log that ends before the checkpoint, whose epochs differ
from it, or whose last batch before it has another checksum, is another log, or one that lost committed records. That is
data loss: `failOnDataLoss` decides whether it ends the query or is skipped with a warning.
"""

from __future__ import annotations

from dataclasses import dataclass

from datasource.offsets import Reached
from datasource.options import ReadOptions
from datasource.patience import Patience
from datasource.planning import DataLossError, data_loss
from raft.client import BatchPlan, Client, LogPlace
from raft.errors import ConfigError, LowerEpochError
from raft.types import Epoch, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """How much of the log a micro-batch may hold.

    Fields:
        max_rows: most rows; None for any number.
        counts_control_records: whether control records are rows of the read.
        target: with AvailableNow, where the log ended when the query started; None otherwise.
    """

    max_rows: int | None = None
    counts_control_records: bool = False
    target: Offset | None = None

    def end_offset(self, start: Offset) -> Offset | None:
        """Latest end of a batch that starts there, as far as offsets alone tell; None for any."""
        if self.max_rows is None or not self.counts_control_records:
            return self.target
        return self.without_counting(start)

    def without_counting(self, start: Offset) -> Offset | None:
        """The same if every offset is taken for a row, as where the leader cannot tell control records apart."""
        bounds = [self.target] if self.target is not None else []
        if self.max_rows is not None:
            bounds.append(Offset(start + self.max_rows))
        return min(bounds, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Where a micro-batch starts and ends."""

    start: LogPlace
    end: LogPlace


def first_batch(client: Client, start: Offset, limits: BatchLimits) -> MicroBatch:
    """Plan a batch that has no checkpoint before it.

    Args:
        client: of the quorum.
        start: where to start; moved into the committed log where it lies outside.
        limits: of the batch.

    Raises:
        DataLossError: the log ends before the target.
        QuorumUnavailableError: no answer in time.
    """
    plan = _ask(client, start, client.epoch, limits)
    _require_target(plan, limits)
    bounded = Offset(min(max(start, plan.log_start_offset), plan.high_watermark))
    if bounded != start:
        plan = _ask(client, bounded, client.epoch, limits)
    place = plan.start or LogPlace(offset=bounded, epoch=epoch_before(client, bounded, Epoch(0)))
    return MicroBatch(start=place, end=_end(client, plan, place, limits))


def next_batch(client: Client, options: ReadOptions, reached: Reached, limits: BatchLimits) -> MicroBatch:
    """Plan the batch after the last one; it starts where that one ended, unless the log there is not what it was.

    Args:
        client: of the quorum.
        options: of the read.
        reached: where the last batch ended.
        limits: of the batch.

    Raises:
        DataLossError: the log is not what it was, and `failOnDataLoss` is true; or it ends before the target.
        ConfigError: it is another cluster's.
        QuorumUnavailableError: no answer in time.
    """
    plan = _plan_after(client, options, reached, limits)
    if reached.cluster_id != client.cluster_id:
        raise ConfigError(
            f"the checkpoint is of cluster {reached.cluster_id}, the quorum is cluster {client.cluster_id}: "
            "a new query, with a new checkpoint, can read it"
        )
    _require_target(plan, limits)
    loss = _find_loss(plan, reached.point)
    if loss is None:
        return MicroBatch(start=reached.point, end=_end(client, plan, reached.point, limits))
    data_loss(options, loss.message)
    return first_batch(client, loss.goes_on_at, limits)


def _ask(client: Client, start: Offset, epoch: Epoch, limits: BatchLimits) -> BatchPlan:
    max_records = None if limits.counts_control_records else limits.max_rows
    return client.plan_batch(start, epoch, max_records=max_records, end_offset=limits.end_offset(start))


def _plan_after(client: Client, options: ReadOptions, reached: Reached, limits: BatchLimits) -> BatchPlan:
    """Ask for the plan; where the log ends before the checkpoint, again, for as long as a call may take.

    A leader that was cut off gives out an old end until it resigns, and its epoch may well be that of the last record
    read, which a later leader has committed.
    """
    patience = Patience(options.client)
    point = reached.point
    while True:
        try:
            plan = _ask(client, point.offset, point.epoch, limits)
        except LowerEpochError as error:
            data_loss(options, f"was the log replaced? {error}")
            client.start_over()
            continue
        is_behind = reached.cluster_id == client.cluster_id and plan.high_watermark < point.offset
        if not is_behind or patience.is_over:
            return plan
        patience.pause()


def _require_target(plan: BatchPlan, limits: BatchLimits) -> None:
    """Refuse to end an AvailableNow query before its target, whatever `failOnDataLoss` says, as Kafka's source does.

    To end there would look as if all that was available had been read.
    """
    if limits.target is not None and plan.high_watermark < limits.target:
        raise DataLossError(
            f"the log ends at {plan.high_watermark}, but it ended at {limits.target} when this query with "
            "Trigger.AvailableNow started: records are gone. Start the query again to read what is there"
        )


def _end(client: Client, plan: BatchPlan, start: LogPlace, limits: BatchLimits) -> LogPlace:
    """Where the batch ends: as the leader says, or counted in offsets where it does not."""
    if plan.end is not None:
        return start if plan.end.offset <= start.offset else plan.end
    limit = limits.without_counting(start.offset)
    end = plan.high_watermark if limit is None else min(plan.high_watermark, limit)
    if end <= start.offset:
        return start
    return LogPlace(offset=end, epoch=epoch_before(client, end, start.epoch))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """What is gone, in words, and where a query that may lose data goes on."""

    message: str
    goes_on_at: Offset


def _find_loss(plan: BatchPlan, point: LogPlace) -> _Loss | None:
    """Compare the log with the checkpoint's place in it; None if nothing contradicts that it is the same log."""
    if point.offset > plan.high_watermark:
        return _Loss(
            message=f"the log ends at {plan.high_watermark}, before the checkpoint's offset {point.offset}: "
            "was it replaced?",
            goes_on_at=plan.high_watermark,
        )
    if point.offset == 0:
        return None
    if point.offset < plan.log_start_offset:
        return _Loss(
            message=f"offsets {point.offset} to {plan.log_start_offset} are gone: "
            f"the log starts at {plan.log_start_offset}",
            goes_on_at=plan.log_start_offset,
        )
    shared = plan.epoch_end
    if not _may_be_in(point, shared):
        at = "before that epoch" if shared is None else f"at offset {shared.offset} of epoch {shared.epoch}"
        return _Loss(
            message=f"the log is not the one of the checkpoint (offset {point.offset}, epoch {point.epoch}): "
            f"it leaves it {at}",
            goes_on_at=Offset(min(point.offset, shared.offset if shared is not None else plan.log_start_offset)),
        )
    found = plan.start
    if found is None or point.checksum is None or found.checksum in (None, point.checksum):
        return None
    # Where the two logs part is unknown. Going on at the same offset reads no row of the old log twice.
    return _Loss(
        message=f"the log is not the one of the checkpoint: the record batch before offset {point.offset} has checksum "
        f"{found.checksum}, the checkpoint's has {point.checksum}; was the log replaced?",
        goes_on_at=point.offset,
    )


def _may_be_in(point: LogPlace, end: OffsetAndEpoch | None) -> bool:
    """Whether a log has this place, as far as what its leader says of the end of the place's epoch tells."""
    if end is None:
        return False
    if end.epoch > point.epoch:
        # A controller of Apache Kafka's keeps the ends of old epochs to itself and names a snapshot. Its last record is
        # of a later epoch than the place's, so the place lies before it; more is not known.
        return point.offset < end.offset
    return end.epoch == point.epoch and end.offset >= point.offset


def epoch_before(client: Client, offset: Offset, at_least: Epoch) -> Epoch:
    """Epoch of the record before `offset`; one question if it is `at_least`, else a search between there and now.

    Controllers of Apache Kafka tell of no epoch older than their oldest snapshot's: for a record of an older one, this
    is that of the snapshot.

    Args:
        client: of the quorum.
        offset: committed.
        at_least: an epoch that the record is not older than.
    """
    if offset == 0:
        return Epoch(0)
    lowest, highest = at_least, client.epoch
    asked = lowest  # most often nothing has changed, and the first question is the last
    while lowest < highest:
        assert lowest <= asked < highest, "each answer leaves less to ask"
        end = client.end_of_epoch(asked)
        if end is not None and end.epoch <= asked and end.offset >= offset:
            highest = max(end.epoch, lowest)
        else:
            lowest = Epoch(asked + 1)
        asked = Epoch((lowest + highest) // 2)
    return lowest
