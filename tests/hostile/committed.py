"""The records of the honest clients in a log that also has those of the neighbour."""

from __future__ import annotations

from collections.abc import Iterator

from raft.records.batch import read_records
from raft.records.header_fields import is_compressed
from raft.types import Offset
from tests.workload.history import LoggedValue
from tests.workload.replica import Replica


def values_of(replica: Replica, clients: tuple[str, ...]) -> list[LoggedValue]:
    """Return the data records whose values begin with the name of a client, in order.

    The batches of honest clients have one record each and are not compressed. Other batches are not decoded: they may
    decompress to 64 MiB.
    """
    names = _begins(clients)
    return [
        (record.offset, record.value)
        for batch in replica.batches
        if not batch.header.is_control and batch.header.record_count == 1 and not is_compressed(batch.payload)
        for record in read_records(batch.payload)
        if record.value is not None and record.value.startswith(names)
    ]


def records_of_others(replica: Replica, clients: tuple[str, ...], start_offset: Offset) -> Iterator[str]:
    """Name the batches from an offset on that no honest client has appended.

    Args:
        replica: the log.
        clients: the names of the honest clients.
        start_offset: where to begin.
    """
    names = _begins(clients)
    for batch in replica.batches:
        header = batch.header
        is_known = not header.is_control and any(name in batch.payload for name in names)
        if header.base_offset >= start_offset and not is_known:
            yield f"the batch at offset {header.base_offset} is of no honest client: {batch.payload!r:.200}"


def _begins(clients: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(f"{client}-".encode() for client in clients)
