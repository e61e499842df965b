"""Invariants of snapshots: each holds the state of the committed log at its end, and a log begins where one ends."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter

from raft.core.effects import SendResponse
from raft.core.messages import ClientFetchRequest
from raft.errors import DecodeError
from raft.records.batch import read_records
from raft.records.batches import read_batches
from raft.snapshots import SnapshotScan
from raft.transactions import OpenTransaction
from raft.types import Batch, CleanupPolicy, EpochStart, Offset, OffsetAndEpoch
from tests.simulation.committed_log import CommittedLog
from tests.simulation.compacted import epoch_at, newest_of_keys, visible_records
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.invariants.writes import content_of_table
from tests.simulation.machine import Machine
from tests.simulation.plan import SnapshotPlan
from tests.simulation.starting import DIRECTORY
from tests.simulation.step import Step
from tests.workload.transaction_history import TransactionHistory


class SnapshotsHoldTheState(Invariant):
    """A snapshot that is made, loaded or found at a start is whole and on the disk.

    It ends in the committed log, below the last stable offset. It has the newest record of each key, all epochs, the
    writers and the transactions, and nothing else. A tombstone is missing only if it was committed longer ago than
    tombstones are kept.
    """

    rules = ("SNAPSHOT-1", "SNAPSHOT-2", "LOG-16")

    def __init__(self, plan: SnapshotPlan, committed: CommittedLog) -> None:
        self._policy = plan.policy
        self._delete_retention_ms = plan.delete_retention_ms
        self._committed = committed
        self._committed_ms: list[tuple[Offset, int]] = []

    def high_watermark_moved(self, step: Step) -> None:
        end_offset = step.high_watermark or Offset(0)
        if not self._committed_ms or end_offset > self._committed_ms[-1][0]:
            self._committed_ms.append((end_offset, step.machine.true_ms))

    def snapshot_made(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        self._check(machine, snapshot)

    def snapshot_installed(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        self._check(machine, snapshot)

    def node_started(self, machine: Machine) -> None:
        assert machine.process is not None, "it was started"
        for snapshot in machine.process.snapshots:
            self._check(machine, snapshot)

    def _check(self, machine: Machine, snapshot: OffsetAndEpoch) -> None:
        end, log = snapshot.offset, self._committed.model
        is_committed = end <= self._committed.end_offset and log.chain_at(end) is not None
        self.require(is_committed, "%s makes a snapshot at %s, committed is %s", machine, snapshot, log.end_offset)
        entries = log.between(Offset(0), end)
        stable = TransactionHistory(log.entries).last_stable_offset(self._committed.end_offset)
        self.require(end <= stable, "%s makes a snapshot at %s, stable is %s", machine, snapshot, stable)
        name = f"{DIRECTORY}/{end:020d}-{snapshot.epoch:010d}.checkpoint"
        is_durable = machine.files.is_durable(name)
        self.require(is_durable, "%s uses the snapshot at %s before its name is on the disk", machine, snapshot)
        content = machine.files.durable_bytes(name)
        scan = SnapshotScan(snapshot)
        try:
            scan.feed(content)
            contents = scan.finish()
        except DecodeError as error:
            self.fail(f"{machine} takes a damaged snapshot at {snapshot}: {error}")
        epochs = tuple(start for start in log.epochs if start.start_offset < end)
        self._same(machine, snapshot, "epochs", contents.summary.epochs, epochs)
        fresh = machine.empty_producer_state()
        for entry in entries:
            fresh.appended(entry.header)
        loaded = machine.empty_producer_state()
        loaded.restore(contents.summary.producers)
        self._same(machine, snapshot, "writers", content_of_table(loaded.writers), content_of_table(fresh.writers))
        for what, table in (("producers", "producers"), ("open transactions", "transactions")):
            found, expected = (_begun(getattr(each.transactions, table)) for each in (loaded, fresh))
            self._same(machine, snapshot, what, found, expected)
        ended, expected_ended = (each.transactions.image().ended_writes for each in (loaded, fresh))
        self._same(machine, snapshot, "ended writes", ended, expected_ended)
        index = contents.index
        self._check_records(machine, snapshot, list(read_batches(content[index.start_position : index.end_position])))

    def _check_records(self, machine: Machine, snapshot: OffsetAndEpoch, batches: Sequence[Batch]) -> None:
        found = {record.offset: record for batch in batches for record in read_records(batch.payload)}
        if self._policy is CleanupPolicy.DELETE:
            self.require(not found, "%s keeps the records %s in the snapshot at %s", machine, list(found), snapshot)
            return
        newest = newest_of_keys(visible_records(self._committed.model, snapshot.offset))
        for offset, record in found.items():
            self._same(machine, snapshot, f"record {offset}", record, newest.get(offset))
        for batch in batches:
            for record in read_records(batch.payload):
                self._same(
                    machine, snapshot, "epoch", batch.header.epoch, epoch_at(self._committed.model, record.offset)
                )
        kept_from = self._end_committed_at(machine.true_ms - self._delete_retention_ms)
        missing = [
            offset
            for offset, record in newest.items()
            if offset not in found and (record.value is not None or offset >= kept_from)
        ]
        self.require(not missing, "%s leaves the records at %s out of the snapshot at %s", machine, missing, snapshot)

    def _end_committed_at(self, time_ms: int) -> Offset:
        """Return the end of what was committed at this time."""
        at = bisect_right(self._committed_ms, time_ms, key=itemgetter(1))
        return self._committed_ms[at - 1][0] if at else Offset(0)

    def _same(self, machine: Machine, snapshot: OffsetAndEpoch, what: str, found: object, expected: object) -> None:
        self.require(
            found == expected, "%s: the snapshot at %s has %s %s, expected %s", machine, snapshot, what, found, expected
        )


def _begun(table: Mapping[object, object]) -> list[object]:
    """Return the keys of a table of transactions with what every node remembers of each, in order."""
    return [
        (key, (value.producer_epoch, value.first_offset) if isinstance(value, OpenTransaction) else value)
        for key, value in table.items()
    ]


class LogStartsAtASnapshot(Invariant):
    """A log begins at offset 0, or at the end of a snapshot on its disk; everything before is committed."""

    rules = ("LOG-15", "SNAPSHOT-3", "TEST-7")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def log_cut(self, machine: Machine, start: OffsetAndEpoch) -> None:
        self._check(machine, start)

    def node_started(self, machine: Machine) -> None:
        assert machine.process is not None, "it was started"
        self._check(machine, machine.process.core.log.start)

    def _check(self, machine: Machine, start: OffsetAndEpoch) -> None:
        if not start.offset:
            return
        is_committed = start.offset <= self._committed.end_offset
        self.require(is_committed, "%s begins at %s, committed is %s", machine, start, self._committed.end_offset)
        name = f"{DIRECTORY}/{start.offset:020d}-{start.epoch:010d}.checkpoint"
        self.require(machine.files.is_durable(name), "%s begins at %s without a snapshot there", machine, start)
        epochs = [each for each in self._committed.model.epochs if each.start_offset < start.offset]
        expected: EpochStart = epochs[-1]
        self.require(start.epoch == expected.epoch, "%s begins at %s, in %s", machine, start, expected)


class CompactedReadsAreCommitted(Invariant):
    """What nodes send to clients of a log that is compacted or cut are committed records, in order, as they were."""

    rules = ("READ-7", "CLIENT-2")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if not isinstance(request, ClientFetchRequest) or not records:
            return
        log, end_offset = self._committed.model, Offset(0)
        try:
            batches = list(read_batches(records))
        except DecodeError as error:
            self.fail(f"{machine} responds to {request} with damaged records: {error}")
        is_whole = sum(batch.header.size_bytes for batch in batches) == len(records)
        self.require(is_whole, "%s responds to %s with a part of a batch", machine, request)
        for batch in batches:
            header = batch.header
            in_order, end_offset = header.base_offset >= end_offset, header.end_offset
            self.require(in_order, "%s responds to %s with %s out of order", machine, request, header)
            entry = log.entry_holding(header.base_offset)
            is_there = entry is not None and header.end_offset <= self._committed.end_offset
            self.require(is_there, "%s responds to %s with uncommitted records", machine, request)
            if entry is not None and entry.payload == batch.payload:
                continue
            for record in read_records(batch.payload):
                origin = log.entry_holding(record.offset)
                assert origin is not None, "it is committed"
                expected = next(each for each in read_records(origin.payload) if each.offset == record.offset)
                is_same = record == expected and header.epoch == origin.header.epoch
                self.require(is_same, "%s responds with %s, committed is %s", machine, record, expected)


class ReadersSeeTheState(Invariant):
    """A reader of a compacted log sees committed records only, and the newest of each key; a reader of a log that
    is cut sees all records from the start of the log on.
    """

    rules = ("READ-7", "TXN-10")

    def __init__(self, policy: CleanupPolicy, committed: CommittedLog) -> None:
        self._policy = policy
        self._committed = committed

    def records_seen(self, reader: str, start_offset: Offset, end_offset: Offset, seen: Sequence[Batch]) -> None:
        records = visible_records(self._committed.model, self._committed.end_offset)
        found = {
            record.offset: record
            for batch in seen
            for record in read_records(batch.payload)
            if start_offset <= record.offset < end_offset
        }
        for offset, record in found.items():
            expected = records.get(offset)
            self.require(record == expected, "%s sees %s, expected %s", reader, record, expected)
        needed = newest_of_keys(records) if self._policy is CleanupPolicy.COMPACT else records
        missing = [
            offset
            for offset, record in needed.items()
            if start_offset <= offset < end_offset and offset not in found and record.value is not None
        ]
        self.require(
            not missing, "%s does not see the records at %s from %s to %s", reader, missing, start_offset, end_offset
        )
