"""What a fetch response says of records that it does not have."""

from __future__ import annotations

from collections.abc import Sequence

from raft.records.batch import read_records
from raft.types import Batch, Offset
from tests.simulation.committed_log import CommittedLog
from tests.simulation.compacted import visible_records
from tests.simulation.invariants.observer import Invariant


class MissingRecordsAreReplaced(Invariant):
    """Where a response lacks a record, a newer one of its key lies before the end of compacted records that it names.

    A record without a value may be missing there without a newer one.
    """

    rules = ("READ-8",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def response_seen(
        self, reader: str, start_offset: Offset, seen: Sequence[Batch], end_offset: Offset, compacted_end: Offset | None
    ) -> None:
        records = visible_records(self._committed.model, self._committed.end_offset)
        found = {record.offset for batch in seen for record in read_records(batch.payload)}
        newest = {record.key: record.offset for record in records.values() if record.offset < (compacted_end or 0)}
        for offset, record in records.items():
            if not start_offset <= offset < end_offset or offset in found:
                continue
            is_compacted = compacted_end is not None and offset < compacted_end
            is_replaced = newest.get(record.key, -1) > offset or record.value is None
            self.require(
                is_compacted and is_replaced,
                "%s does not see %s, which is not replaced before %s",
                reader,
                record,
                compacted_end,
            )
