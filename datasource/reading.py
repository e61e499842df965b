"""Reads the records of a range as Arrow record batches, in Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from datasource.clients import client_for
from datasource.options import ReadOptions
from datasource.patience import Patience
from datasource.planning import LogRange, data_loss
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
    patience = Patience(options.client)
    while offset < end:
        is_earliest = log_range.starts_at_earliest and offset == log_range.start_offset
        fetched, offset = _fetch(client, options, offset, end, patience, is_earliest=is_earliest)
        if fetched is None:
            continue
        patience.restart()
        offset = yield from read_response(options, fetched, offset, end, leave_reader=client.leave_reader)


def _fetch(
    client: Client, options: ReadOptions, offset: Offset, end: Offset, patience: Patience, *, is_earliest: bool
) -> tuple[Fetched | None, Offset]:
    """Fetch from an offset on; return the records and their offset, or None and the offset after lost records.

    If the offset was the start of the log (`is_earliest`), records that were removed there are not lost.

    Raises:
        QuorumUnavailableError: no leader returned records within the time of a call.
        DataLossError: the log does not have the records, and `failOnDataLoss` is true.
    """
    while True:
        try:
            fetched = client.fetch(offset, max_bytes=_FETCH_BYTES, max_wait_ms=_FETCH_WAIT_MS)
        except OffsetOutOfRangeError as error:
            is_past_the_end = offset >= error.log_start_offset
            if is_past_the_end and not patience.is_over:
                patience.pause()
                continue
            if not (is_earliest and offset < error.log_start_offset <= end):
                data_loss(options, f"cannot read offsets {offset} to {end}: {error}")
            return None, end if is_past_the_end else Offset(error.log_start_offset)
        except LowerEpochError as error:
            data_loss(options, f"cannot read offsets {offset} to {end}: was the log replaced? {error}")
            return None, end
        if fetched.records:
            return fetched, offset
        if not patience.is_over:
            continue  # The leader has waited for records already.
        if fetched.last_stable_offset is None or fetched.last_stable_offset > offset:
            raise QuorumUnavailableError(
                f"offsets {offset} to {end} are committed, but no leader sent them within {patience.timeout_s:.0f} s"
            )
        # The offset is the end of the log, or not committed. The leader returns no error for these.
        data_loss(
            options,
            f"cannot read offsets {offset} to {end}: the log is committed up to {fetched.last_stable_offset}; "
            "was the log replaced?",
        )
        return None, end
