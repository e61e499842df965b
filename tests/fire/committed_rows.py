"""The committed rows of a log, read through our client as the connector's readers do."""

from __future__ import annotations

from raft.client import AbortedFilter, Client
from raft.records.batch import read_records
from raft.records.split import split_batches
from tests.workload.history import LoggedValue


def committed_rows(client: Client) -> list[LoggedValue]:
    """Return every row below the last stable offset, without those of aborted parts."""
    rows: list[LoggedValue] = []
    offset, end = client.log_start_offset(), client.last_stable_offset()
    while offset < end:
        fetched = client.fetch(offset)
        aborted = AbortedFilter(fetched.aborted)
        for batch in split_batches(fetched.records):
            offset = batch.header.end_offset
            if not aborted.drops(batch.header) and not batch.header.is_control:
                rows += [(record.offset, record.value or b"") for record in read_records(batch.payload)]
    return rows
