"""Reads the records of a range as Arrow record batches, in Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from datasource.clients import client_for
from datasource.options import ReadOptions
from datasource.read_deadline import ReadDeadline
from datasource.read_plan import AGED_OUT, LogRange, data_loss
from datasource.responses import read_response
from raft.client import Client, Fetched
from raft.errors import LowerEpochError, OffsetOutOfRangeError, QuorumUnavailableError
from raft.types import Offset

_FETCH_BYTES = 4 << 20
_FETCH_WAIT_MS = 500


def read_range(options: ReadOptions, log_range: LogRange) -> Iterator[pa.RecordBatch]:
    """Yield the committed records of a range, in order.

    Raises:
        QuorumUnavailableError: no leader returned them within the time of a call.
        DataLossError: they are lost, or cannot be decoded, and `failOnDataLoss` is true.
    """
    client = client_for(options.client, cluster_id=log_range.cluster_id, epoch=log_range.epoch)
    offset = log_range.start_offset
    end = client.last_stable_offset() if log_range.end_offset is None else log_range.end_offset
    deadline = ReadDeadline(options.client)
    while offset < end:
        is_earliest = log_range.starts_at_earliest and offset == log_range.start_offset
        fetched = fetch_or_skip(client, options, offset, end, deadline, log_start_limit=end if is_earliest else offset)
        if isinstance(fetched, Skip):
            offset = fetched.to
        else:
            offset = yield from read_response(options, fetched, offset, end, leave_reader=client.leave_reader)


@dataclass(frozen=True, slots=True)
class Skip:
    """Records that the log does not have.

    Fields:
        to: the offset at which the read goes on.
        is_to_log_start: whether the log starts there now.
    """

    to: Offset
    is_to_log_start: bool


def fetch_or_skip(
    client: Client,
    options: ReadOptions,
    offset: Offset,
    end: Offset,
    deadline: ReadDeadline,
    *,
    log_start_limit: Offset,
) -> Fetched | Skip:
    """Fetch from an offset on, where the log is committed.

    Args:
        client: of the quorum.
        options: of the read.
        offset: the first to fetch.
        end: of the read, for messages, and as the end of what is lost.
        deadline: how long to wait for records; starts again when there are some.
        log_start_limit: if the log starts here or before, the records between `offset` and its start are not lost,
            because the read begins with the first record that there is.

    Raises:
        QuorumUnavailableError: no leader returned records within the time of a call.
        DataLossError: the log does not have the records, and `failOnDataLoss` is true.
    """
    while True:
        try:
            fetched = client.fetch(offset, max_bytes=_FETCH_BYTES, max_wait_ms=_FETCH_WAIT_MS)
        except OffsetOutOfRangeError as error:
            is_past_the_end = offset >= error.log_start_offset
            if is_past_the_end and not deadline.is_over:
                deadline.pause()
                continue
            if is_past_the_end:
                data_loss(options, f"cannot read offsets {offset} to {end}: {error}")
                return Skip(end, is_to_log_start=False)
            if error.log_start_offset > log_start_limit:
                data_loss(options, f"cannot read offsets {offset} to {end}: {error}. {AGED_OUT}")
            return Skip(Offset(error.log_start_offset), is_to_log_start=True)
        except LowerEpochError as error:
            data_loss(options, f"cannot read offsets {offset} to {end}: was the log replaced? {error}")
            return Skip(end, is_to_log_start=False)
        if fetched.records:
            deadline.restart()
            return fetched
        if not deadline.is_over:
            continue  # The leader has waited for records already.
        if fetched.last_stable_offset is None or fetched.last_stable_offset > offset:
            raise QuorumUnavailableError(
                f"offsets {offset} to {end} are committed, but no leader sent them within {deadline.timeout_s:.0f} s"
            )
        # The offset is the end of the log, or not committed. The leader returns no error for these.
        data_loss(
            options,
            f"cannot read offsets {offset} to {end}: the log is committed up to {fetched.last_stable_offset}; "
            "was the log replaced?",
        )
        return Skip(end, is_to_log_start=False)
