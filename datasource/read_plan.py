"""Plans a read: its start, its end, and its tasks."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from datasource.option_values import Bound, NamedOffset
from datasource.options import ReadOptions
from raft.client import Client
from raft.errors import ConfigError, RaftError
from raft.types import Epoch, Offset

_logger = logging.getLogger(__name__)

AGED_OUT = "Some data may have been lost because it was aged out by the quorum before all of it was read"
"""What a message of data loss says if the log starts later than the read. Source: Spark KafkaSourceProvider."""


class DataLossError(RaftError):
    """Records of the read are lost, and `failOnDataLoss` is true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRange:
    """The part of the log that one task reads.

    Fields:
        start_offset, end_offset: half-open; without an end, up to the high watermark when the task runs.
        cluster_id: of the log.
        epoch: a leader epoch that was reached when the range was planned.
        starts_at_earliest: whether it begins at the start of the log, wherever that is when the task runs.
    """

    start_offset: Offset
    end_offset: Offset | None
    cluster_id: str
    epoch: Epoch
    starts_at_earliest: bool = False


def data_loss(options: ReadOptions, message: str) -> None:
    """Report lost records: raise an error, or log a warning if `failOnDataLoss` is false.

    Args:
        options: of the read.
        message: which records are lost, and why.

    Raises:
        DataLossError: `failOnDataLoss` is true.
    """
    if options.fail_on_data_loss:
        raise DataLossError(f"{message}; set failOnDataLoss to false to read the other records")
    _logger.warning("%s; the other records are read, because failOnDataLoss is false", message)


def resolve_start(client: Client, options: ReadOptions, start: Bound | None, *, default: NamedOffset) -> Offset:
    """Return the offset at which a new query starts.

    Args:
        client: of the quorum.
        options: of the read; a starting timestamp in them is used instead of `start`.
        start: the start; None for the default.
        default: the start if none is given.

    Raises:
        ConfigError: the offset is after the end of the log, or no record has the timestamp or a later one.
    """
    timestamp_ms = options.starting_timestamp_ms
    if timestamp_ms is not None:
        found = client.find_offset(timestamp_ms)
        if found is not None:
            return found.offset
        if options.latest_if_no_match:
            return client.last_stable_offset()
        raise ConfigError(
            f"startingTimestamp={timestamp_ms}: no record has this timestamp or a later one; "
            "set startingOffsetsByTimestampStrategy=latest to start at the end"
        )
    match start if start is not None else default:
        case NamedOffset.EARLIEST:
            return client.log_start_offset()
        case NamedOffset.LATEST:
            return client.last_stable_offset()
        case int() as offset if offset < 0:
            return before_end(client, -offset, counts_control_records=options.include_control_records)
        case int() as offset:
            return _existing(client, options, Offset(offset))


def before_end(client: Client, rows: int, *, counts_control_records: bool) -> Offset:
    """Return the start of the last rows of the log; the start of the log if it has fewer.

    A leader that cannot count rows gets each offset counted.

    Args:
        client: of the quorum.
        rows: how many, 1 or more.
        counts_control_records: whether control records are rows.

    Raises:
        QuorumUnavailableError: no leader responded in time.
    """
    end, first = client.last_stable_offset(), client.log_start_offset()

    def has_at_most(start: Offset) -> bool:
        plan = client.plan_batch(start, client.epoch, max_records=rows, end_offset=end)
        return plan.end is not None and plan.end.offset >= end

    # Between these two is the lowest start with at most so many rows.
    lowest, highest = first, Offset(max(end - rows, first))
    step = 1
    while not counts_control_records and lowest < highest:
        tried = Offset(max(highest - step, lowest))
        if has_at_most(tried):
            highest, step = tried, 2 * step
        else:
            lowest, step = Offset(tried + 1), 1
    return highest


def _existing(client: Client, options: ReadOptions, offset: Offset) -> Offset:
    plan = client.plan_batch(offset, client.epoch)
    # Before the first record of a compacted log are offsets of which none is lost.
    first, end = plan.log_start_offset, plan.last_stable_offset
    if offset > end:
        raise ConfigError(f"startingOffsets={offset} is after the end of the log, expected {first} to {end}")
    if offset < first:
        data_loss(options, f"startingOffsets={offset} is before the start of the log at {first}. {AGED_OUT}")
    return max(offset, first)


def resolve_end(client: Client, options: ReadOptions) -> Offset | None:
    """Return the end of a batch read; None for the high watermark when it is read, which `latest` means.

    Args:
        client: of the quorum.
        options: of the read.

    Raises:
        ConfigError: the offset is after the end of the log.
    """
    if options.ending_timestamp_ms is not None:
        found = client.find_offset(options.ending_timestamp_ms)
        return found.offset if found is not None else None
    if isinstance(options.ending_offsets, int):
        end = client.last_stable_offset()
        if options.ending_offsets > end:
            given = f"endingOffsets={options.ending_offsets}"
            raise ConfigError(f"{given} is after the end of the log, expected at most {end}")
        return Offset(options.ending_offsets)
    return None


def split(
    start: Offset, end: Offset | None, options: ReadOptions, *, committed: Offset, cluster_id: str, epoch: Epoch
) -> list[LogRange]:
    """Split a range into tasks of about the same size, by `minPartitions` and `maxRecordsPerPartition`.

    Args:
        start: its first offset.
        end: its end; None for the high watermark when the last task runs.
        options: of the read.
        committed: the high watermark now.
        cluster_id: see `LogRange`.
        epoch: see `LogRange`.
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
