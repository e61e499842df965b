"""The records of a range as Arrow record batches, read where Spark's tasks run."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from datasource.answers import read_answer
from datasource.clients import client_for
from datasource.options import ReadOptions
from datasource.patience import Patience
from datasource.planning import LogRange, data_loss
from raft.client import Client
from raft.errors import LowerEpochError, OffsetOutOfRangeError, QuorumUnavailableError
from raft.types import Offset

_FETCH_BYTES = 2 << 20
_FETCH_WAIT_MS = 500


def read_range(options: ReadOptions, log_range: LogRange) -> Iterator[pa.RecordBatch]:
    """Yield the committed records of a range, in order.

    Raises:
        QuorumUnavailableError: they could not be had within the time of a call.
        DataLossError: they are gone, or cannot be decoded, and `failOnDataLoss` is true.
    """
    client = client_for(options.client, cluster_id=log_range.cluster_id, epoch=log_range.epoch)
    offset = log_range.start_offset
    end = client.log_end() if log_range.end_offset is None else log_range.end_offset
    patience = Patience(options.client)
    while offset < end:
        records, offset = _fetch(client, options, offset, end, patience)
        if not records:
            if offset < end and patience.is_over:
                within = f"within {patience.timeout_s:.0f} s"
                raise QuorumUnavailableError(
                    f"offsets {offset} to {end} are committed, but no leader gave them {within}"
                )
            continue
        patience.restart()
        offset = yield from read_answer(options, records, offset, end)


def _fetch(
    client: Client, options: ReadOptions, offset: Offset, end: Offset, patience: Patience
) -> tuple[bytes, Offset]:
    """Fetch from an offset on, or from the log's start, if the records before that are gone."""
    while True:
        try:
            return client.fetch(offset, max_bytes=_FETCH_BYTES, max_wait_ms=_FETCH_WAIT_MS).records, offset
        except OffsetOutOfRangeError as error:
            is_past_the_end = offset >= error.log_start_offset
            if is_past_the_end and not patience.is_over:
                patience.pause()
                continue
            data_loss(options, f"cannot read offsets {offset} to {end}: {error}")
            return b"", end if is_past_the_end else Offset(error.log_start_offset)
        except LowerEpochError as error:
            data_loss(options, f"cannot read offsets {offset} to {end}: was the log replaced? {error}")
            return b"", end
