"""The records that a quorum has committed, read through a client."""

from __future__ import annotations

from raft.client import Client, Reader
from raft.records.record import Record
from tests.node.harness.batches import batches_in, records_of
from tests.workload.history import LoggedValue


def read_all(client: Client) -> list[Record]:
    """Return every committed data record, in order."""
    records: list[Record] = []
    offset, end = client.log_start_offset(), client.last_stable_offset()
    while offset < end:
        batches = batches_in(client.fetch(offset, max_bytes=1 << 20).records)
        records += records_of(batches)
        offset = batches[-1].header.end_offset
    return records


def committed_rows(client: Client) -> list[LoggedValue]:
    """Return every row below the last stable offset, without those of aborted parts, as the connector's readers do."""
    return [(record.offset, record.value or b"") for record in Reader(client)]
