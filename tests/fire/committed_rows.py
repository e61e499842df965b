"""The committed rows of a log, read through our client as the connector's readers do."""

from __future__ import annotations

from raft.client import Client, Reader
from tests.workload.history import LoggedValue


def committed_rows(client: Client) -> list[LoggedValue]:
    """Return every row below the last stable offset, without those of aborted parts."""
    return [(record.offset, record.value or b"") for record in Reader(client)]
