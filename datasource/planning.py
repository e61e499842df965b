"""Which offsets a batch reads: where it starts, where it ends, and whether the log is still the one it was.

Committed records never change and never go. So a log that ends before the checkpoint, or whose epochs differ from it,
is another log, or one that lost what was promised: data loss, found and named, or skipped with a warning, as
`failOnDataLoss` says.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from datasource.offsets import LogPoint, Reached
from datasource.options import Bound, Place, ReadOptions
from datasource.patience import Patience
from raft.client import Client
from raft.errors import ConfigError, LowerEpochError, RaftError
from raft.types import Epoch, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)


class DataLossError(RaftError):
    """Records that were there, or were to be read, are gone; and `failOnDataLoss` is true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRange:
    """What one task reads.

    Fields:
        start_offset, end_offset: half-open; without an end, up to what is committed when the task runs.
        cluster_id: whose log it is.
        epoch: one that the leader had reached when it was planned.
    """

    start_offset: Offset
    end_offset: Offset | None
    cluster_id: str
    epoch: Epoch


def data_loss(options: ReadOptions, message: str) -> None:
    """Raise, or warn, as the option says.

    Raises:
        DataLossError: `failOnDataLoss` is true.
    """
    if options.fail_on_data_loss:
        raise DataLossError(f"{message}; set failOnDataLoss to false to go on with what is there")
    _logger.warning("%s; going on with what is there", message)


def committed_end(client: Client, options: ReadOptions, reached: Reached | None = None) -> Offset:
    """The end of what is committed, in the log that is there now.

    Args:
        client: of the quorum.
        options: of the read.
        reached: where the last batch ended. An end before that is looked at again, for as long as a call may take: a
            leader that was cut off gives out an old end until it resigns, and its epoch may well be that of the last
            record read, which a later leader has committed.

    Raises:
        DataLossError: its leader is older than one seen before, for as long as a call may take; and `failOnDataLoss`
            is true.
    """
    patience = Patience(options.client)
    while True:
        try:
            end = client.log_end()
        except LowerEpochError as error:
            data_loss(options, f"was the log replaced? {error}")
            client.start_over()
            return client.log_end()
        is_behind = reached is not None and reached.cluster_id == client.cluster_id and end < reached.point.offset
        if not is_behind or patience.is_over:
            return end
        patience.pause()


def resolve_start(client: Client, options: ReadOptions, start: Bound | None, *, default: Place) -> Offset:
    """Where a new query starts, now that the quorum can be asked.

    Raises:
        ConfigError: an offset past the end, or a time that no record is as young as.
    """
    timestamp_ms = options.starting_timestamp_ms
    if timestamp_ms is not None:
        found = client.find_offset(timestamp_ms)
        if found is not None:
            return found.offset
        if options.latest_if_no_match:
            return client.log_end()
        raise ConfigError(
            f"startingTimestamp={timestamp_ms}: no record is as young as that; "
            "startingOffsetsByTimestampStrategy=latest would start at the end"
        )
    match start if start is not None else default:
        case Place.EARLIEST:
            return client.log_start()
        case Place.LATEST:
            return client.log_end()
        case int() as offset:
            return _existing(client, options, Offset(offset))


def _existing(client: Client, options: ReadOptions, offset: Offset) -> Offset:
    first, end = client.log_start(), client.log_end()
    if offset > end:
        raise ConfigError(f"startingOffsets={offset} lies past the end: committed are {first} to {end}")
    if offset < first:
        data_loss(options, f"startingOffsets={offset} is gone: the log starts at {first}")
    return max(offset, first)


def resolve_end(client: Client, options: ReadOptions) -> Offset | None:
    """Where a batch ends; None for what is committed when it is read, as `latest` means.

    Raises:
        ConfigError: an offset past the end.
    """
    if options.ending_timestamp_ms is not None:
        found = client.find_offset(options.ending_timestamp_ms)
        return found.offset if found is not None else None
    if isinstance(options.ending_offsets, int):
        end = client.log_end()
        if options.ending_offsets > end:
            raise ConfigError(f"endingOffsets={options.ending_offsets} lies past the end: committed is up to {end}")
        return Offset(options.ending_offsets)
    return None


def continue_from(client: Client, options: ReadOptions, reached: Reached, end: Offset) -> LogPoint:
    """Where the next batch starts: where the last one ended, unless the log there is not what it was.

    Args:
        client: of the quorum.
        options: of the read.
        reached: where the last one ended.
        end: of what is committed; see `committed_end`, which knows when to doubt it.

    Raises:
        DataLossError: it is not, and `failOnDataLoss` is true.
        ConfigError: it is another cluster's.
    """
    point = reached.point
    if reached.cluster_id != client.cluster_id:
        raise ConfigError(
            f"the checkpoint is of cluster {reached.cluster_id}, the quorum is cluster {client.cluster_id}: "
            "a new query, with a new checkpoint, can read it"
        )
    if point.offset > end:
        data_loss(options, f"the log ends at {end}, before the checkpoint's offset {point.offset}: was it replaced?")
        return LogPoint(offset=end, epoch=epoch_before(client, end, Epoch(0)))
    first = client.log_start() if point.offset else Offset(0)
    if point.offset < first:
        data_loss(options, f"offsets {point.offset} to {first} are gone: the log starts at {first}")
        return LogPoint(offset=first, epoch=epoch_before(client, first, Epoch(0)))
    shared = client.end_of_epoch(point.epoch)
    if point.offset and not _may_be_in(point, shared):
        at = "before that epoch" if shared is None else f"at offset {shared.offset} of epoch {shared.epoch}"
        data_loss(
            options,
            f"the log is not the one of the checkpoint (offset {point.offset}, epoch {point.epoch}): it leaves it {at}",
        )
        offset = min(point.offset, shared.offset if shared is not None else first)
        return LogPoint(offset=offset, epoch=epoch_before(client, offset, Epoch(0)))
    return point


def _may_be_in(point: LogPoint, end: OffsetAndEpoch | None) -> bool:
    """Whether a log has this point, as far as what its leader says of the end of the point's epoch tells."""
    if end is None:
        return False
    if end.epoch > point.epoch:
        # A controller of Apache Kafka's keeps the ends of old epochs to itself and names a snapshot. Its last record is
        # of a later epoch than the point's, so the point lies before it; more is not known.
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


def split(
    start: Offset, end: Offset | None, options: ReadOptions, *, committed: Offset, cluster_id: str, epoch: Epoch
) -> list[LogRange]:
    """Cut a range into tasks of about the same size, as `minPartitions` and `maxRecordsPerPartition` ask.

    Args:
        start: where it starts.
        end: where it ends; None for what is committed when the last task runs.
        options: of the read.
        committed: the end, as far as it is known now.
        cluster_id: see `LogRange`.
        epoch: see there too.
    """
    last = committed if end is None else end
    size = max(last - start, 0)
    pieces = max(1, options.min_partitions or 1)
    if options.max_records_per_partition is not None:
        pieces = max(pieces, -(-size // options.max_records_per_partition))
    pieces = min(pieces, max(size, 1))
    edges = [Offset(start + size * at // pieces) for at in range(pieces + 1)]
    ends: list[Offset | None] = [*edges[1:-1], None if end is None else edges[-1]]
    return [
        LogRange(start_offset=first, end_offset=after, cluster_id=cluster_id, epoch=epoch)
        for first, after in zip(edges[:-1], ends, strict=True)
    ]
