"""The records of the honest clients in a log that also has those of the neighbour."""

from __future__ import annotations

from raft.records.batch import read_records
from raft.records.header import is_compressed
from tests.workload.history import LoggedValue
from tests.workload.replica import Replica


def values_of(replica: Replica, clients: tuple[str, ...]) -> list[LoggedValue]:
    """Return the data records whose values begin with the name of a client, in order.

    The batches of honest clients have one record each and are not compressed. Other batches are not decoded: they may
    decompress to 64 MiB.
    """
    names = tuple(f"{client}-".encode() for client in clients)
    return [
        (record.offset, record.value)
        for batch in replica.batches
        if not batch.header.is_control and batch.header.record_count == 1 and not is_compressed(batch.payload)
        for record in read_records(batch.payload)
        if record.value is not None and record.value.startswith(names)
    ]
