"""Which offsets a read covers: where it starts, where it ends, and into how many tasks it is cut."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from datasource.options import Bound, Place, ReadOptions
from raft.client import Client
from raft.errors import ConfigError, RaftError
from raft.types import Epoch, Offset

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
            return client.high_watermark()
        raise ConfigError(
            f"startingTimestamp={timestamp_ms}: no record is as young as that; "
            "startingOffsetsByTimestampStrategy=latest would start at the end"
        )
    match start if start is not None else default:
        case Place.EARLIEST:
            return client.log_start_offset()
        case Place.LATEST:
            return client.high_watermark()
        case int() as offset:
            return _existing(client, options, Offset(offset))


def _existing(client: Client, options: ReadOptions, offset: Offset) -> Offset:
    first, end = client.log_start_offset(), client.high_watermark()
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
        end = client.high_watermark()
        if options.ending_offsets > end:
            raise ConfigError(f"endingOffsets={options.ending_offsets} lies past the end: committed is up to {end}")
        return Offset(options.ending_offsets)
    return None


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
