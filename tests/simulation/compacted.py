"""What a snapshot of the committed log has to hold: the reference for what nodes make and readers get."""

from __future__ import annotations

from raft.records.batch import read_records
from raft.records.record import Record
from raft.types import Offset
from tests.simulation.log_model import Entry, LogModel
from tests.workload.transaction_history import TransactionHistory


def visible_records(log: LogModel, end_offset: Offset) -> dict[Offset, Record]:
    """Return the records that readers of committed transactions see below an offset, which is stable in this log."""
    entries = log.between(Offset(0), end_offset)
    visible = {offset for offset, _ in TransactionHistory(log.entries).visible(entries, Offset(0), end_offset)}
    return {
        record.offset: record
        for entry in entries
        if not entry.header.is_control
        for record in read_records(entry.payload)
        if record.offset in visible
    }


def newest_of_keys(records: dict[Offset, Record]) -> dict[Offset, Record]:
    """Return the newest record of each key, by offset."""
    newest = {record.key: record for record in records.values()}
    return {record.offset: record for record in newest.values()}


def epoch_at(log: LogModel, offset: Offset) -> int:
    """Return the leader epoch of a record."""
    entry: Entry | None = log.entry_holding(offset)
    assert entry is not None, f"offset {offset} is in the log"
    return entry.header.epoch
