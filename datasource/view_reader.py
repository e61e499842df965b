"""Reads the newest row of each key, in Spark's tasks (`view=latest`, READ-8)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from datasource.clients import client_for
from datasource.columns.newest import NewestRows
from datasource.options import ReadOptions
from datasource.range_reader import Skip, fetch_or_skip
from datasource.read_deadline import ReadDeadline
from datasource.read_plan import data_loss
from datasource.responses import Rows, read_response
from datasource.view_range import ViewRange
from raft.client import Client
from raft.client.view_end import ViewEnd
from raft.types import Offset


def read_view(options: ReadOptions, view: ViewRange) -> Iterator[pa.RecordBatch]:
    """Yield the newest row of each key of a share, in the order of their offsets.

    The whole log is read first. If its start moves past the offset that is read next, the records before are gone, and
    the read begins again: its result is that of a read that begins later.

    Raises:
        QuorumUnavailableError: no leader returned records within the time of a call.
        DataLossError: records are lost or cannot be decoded, or those as of a fixed end are not all left, and
            `failOnDataLoss` is true.
    """
    client = client_for(options.client, cluster_id=view.cluster_id, epoch=view.epoch)
    end = ViewEnd(client.last_stable_offset() if view.end_offset is None else view.end_offset, may_move=view.may_move)
    rows = NewestRows(share=view.share, shares=view.shares)
    _read(client, options, end, rows)
    yield from rows.record_batches()


def _read(client: Client, options: ReadOptions, end: ViewEnd, rows: NewestRows) -> None:
    deadline = ReadDeadline(options.client)
    offset = end.first_fetch(client.log_start_offset())
    is_incomplete = False
    while offset < end.offset:
        fetched = fetch_or_skip(client, options, offset, end.offset, deadline, log_start_limit=end.log_start_limit)
        if isinstance(fetched, Skip):
            offset = fetched.to
            if fetched.is_to_log_start:
                rows.clear()
                if end.may_move:
                    end.offset = max(end.offset, client.last_stable_offset())
            continue
        lost = end.why_incomplete(fetched.compacted_end)
        if lost is not None and not is_incomplete:
            data_loss(options, lost)
            is_incomplete = True
        offset = _add(rows, read_response(options, fetched, offset, end.offset, leave_reader=client.leave_reader))


def _add(rows: NewestRows, found: Rows) -> Offset:
    """Add the rows of a response; return the offset to read from next."""
    while True:
        try:
            rows.add(next(found))
        except StopIteration as done:
            offset: Offset = done.value
            return offset
