"""The honest clients' records in a log that is full of the neighbour's."""

from __future__ import annotations

from raft.records.batch import read_records
from raft.records.header import is_compressed
from tests.workload.history import LoggedValue
from tests.workload.replica import Replica


def values_of(replica: Replica, clients: tuple[str, ...]) -> list[LoggedValue]:
    """The data records whose values begin with a client's name, in order.

    Honest batches have one record each, not compressed; others are not opened, as they may hold 64 MiB.
    """
    names = tuple(f"{client}-".encode() for client in clients)
    return [
        (record.offset, record.value)
        for batch in replica.batches
        if not batch.header.is_control and batch.header.record_count == 1 and not is_compressed(batch.payload)
        for record in read_records(batch.payload)
        if record.value is not None and record.value.startswith(names)
    ]
