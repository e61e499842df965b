"""Invariants of transactions: what is committed is whole, and readers see nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from raft.client.results import BatchPlan, FoundOffset
from raft.core.effects import SendResponse
from raft.core.messages import AppendResponse, ClientFetchRequest
from raft.core.write_hold import HELD_BACK_MS
from raft.errors import ErrorCode
from raft.records.batch import read_records
from raft.records.batches import read_batches
from raft.transactions import TransactionTable
from raft.types import FIRST_PART_PRODUCER_ID, Batch, ControlType, Epoch, Offset, WriteCommit
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from raft.writers import WriteId, is_of_part, is_part, tag_of
from tests.simulation.clients.transactional_producer import Transaction
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.histories import newly_committed
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan
from tests.simulation.step import Step
from tests.workload.transaction_history import LoggedTransaction, TransactionHistory

_LONGEST_COMMIT_MS = 500
"""A leader that can commit does so more often."""

_TRANSACTIONS = 3
_MOST_BUSY_MS = 2_000
"""What it takes beside the timeouts of transactions until writes that have begun have ended, on a slow network."""

_CHECK_EVERY = 32
"""A table of transactions is compared with its log once in so many appends of all nodes."""


class TransactionTableMatchesLog(Invariant):
    """Each node's table of transactions equals one that is built from its log."""

    rules = ("TXN-1", "LOG-22")

    def __init__(self) -> None:
        self._appends = 0

    def node_started(self, machine: Machine) -> None:
        self._compare(machine, machine.written.model)

    def log_truncated(self, step: Step) -> None:
        self._compare(step.machine, step.log)

    def log_appended(self, step: Step) -> None:
        self._appends += 1
        if self._appends % _CHECK_EVERY == 0:
            self._compare(step.machine, step.log)

    def _compare(self, machine: Machine, log: LogModel) -> None:
        fresh = TransactionTable()
        for entry in log.entries:
            fresh.appended(entry.header)
        table = machine.producers.transactions
        start_offset = machine.core.log.start_offset
        if any(each.first_offset < start_offset for each in table.transactions.values()):
            return  # Of those that were open at the end of a snapshot, a node knows only where they began.
        is_same = table.image() == fresh.image() and list(table.transactions) == list(fresh.transactions)
        detail = "%s: the table of transactions differs from one built from the log up to %s"
        self.require(
            is_same,
            detail,
            machine,
            log.end_offset,
        )


class AbortedIndexMatchesLog(Invariant):
    """After a flush the index of aborted transactions has those of the batches on the disk."""

    rules = ("TXN-10",)

    def __init__(self) -> None:
        self._flushes = 0

    def log_flushed(self, machine: Machine) -> None:
        self._flushes += 1
        if self._flushes % _CHECK_EVERY or machine.process is None:
            return
        self._check(machine, machine.process.aborted, machine.process.log_start)

    def log_truncated(self, step: Step) -> None:
        self._flushes = -1  # The next flush is checked.

    def _check(self, machine: Machine, indexed: list[tuple[int, Offset, Offset]], start_offset: Offset) -> None:
        expected = sorted(
            ((each.marker_end_offset or 0) - 1, each.first_offset, each.producer_id)
            for each in TransactionHistory(machine.written.model.entries).ended
            if not each.is_committed and (each.marker_end_offset or 0) > start_offset
        )
        found = [(last_offset, first_offset, producer_id) for producer_id, first_offset, last_offset in indexed]
        self.require(found == expected, "%s: the index has %s, the log %s", machine, found, expected)


class LastStableOffsetIsCorrect(Invariant):
    """The last stable offset of each node is that of its committed log, and clients get no record behind it."""

    rules = ("TXN-1", "TXN-2")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._expected: dict[Offset, Offset] = {}
        """By the high watermark: below it, all logs are equal."""

    def high_watermark_moved(self, step: Step) -> None:
        high_watermark = step.high_watermark
        if high_watermark is None:
            return
        if high_watermark not in self._expected:
            history = TransactionHistory(step.log.between(Offset(0), high_watermark))
            self._expected[high_watermark] = history.last_stable_offset(high_watermark)
        expected, actual = self._expected[high_watermark], step.machine.core.last_stable_offset
        self.require(
            actual == expected,
            "%s has last stable offset %s at high watermark %s, expected %s",
            step.machine,
            actual,
            high_watermark,
            expected,
        )

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if not isinstance(request, ClientFetchRequest) or not request.read_committed or not records:
            return
        end = list(read_batches(records))[-1].header.end_offset
        stable = self._committed.history.last_stable_offset(self._committed.end_offset)
        self.require(end <= stable, "%s responds with records up to %s, stable is %s", machine, end, stable)


class ViewsEndOutsideOfWrites(Invariant):
    """No end of the log that a client receives, for a batch read or a plan, is within a multipart write."""

    rules = ("TXN-2",)

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        if timestamp == LATEST_TIMESTAMP and found is not None:
            self._check(reader, found.offset)

    def batch_planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        self._check(reader, plan.last_stable_offset)

    def _check(self, reader: str, end_offset: Offset) -> None:
        for first, end in self._committed.history.whole_writes:
            is_outside = not first < end_offset < end
            self.require(
                is_outside, "%s sees the log up to %s, within a write from %s to %s", reader, end_offset, first, end
            )


@dataclass(slots=True)
class _HeldBack:
    """Writes that hold a leader's last stable offset back.

    Fields:
        epoch: of the leader.
        first_offset: where they begin.
        end_offset: where they ended when they were first seen.
        last_ms: when they were last seen.
        held_ms: for how long they were seen, without the times in which the leader committed nothing.
        overdue_ms: since when nothing is open that began before `end_offset`; None while something is.
    """

    epoch: Epoch
    first_offset: Offset
    end_offset: Offset
    last_ms: int
    held_ms: int = 0
    overdue_ms: int | None = None


class StableOffsetMovesOn(Invariant):
    """Multipart writes that overlap do not hold the last stable offset of a leader back without end.

    New writes wait in time. Before that and after it, transactions may be open for as long as they may be at all; then
    those that have begun end one after the other.
    """

    rules = ("TXN-12",)

    def __init__(self, plan: Plan) -> None:
        self._allowed_ms = HELD_BACK_MS + _TRANSACTIONS * plan.clients.transaction_timeout_ms + _MOST_BUSY_MS
        self._held: dict[Machine, _HeldBack] = {}

    def log_appended(self, step: Step) -> None:
        held = self._held.get(step.machine)
        if held is None or held.overdue_ms is None or step.leadership is None or held.epoch != step.leadership.epoch:
            return
        open_parts = Counter(map(tag_of, filter(is_of_part, step.machine.core.transactions.transactions)))
        for entry in step.appended:
            header = entry.header
            is_new = is_part(header) and not header.is_control and open_parts[tag_of(header.producer_id or 0)] == 1
            waits = step.now_ms - held.overdue_ms
            self.require(
                waits < HELD_BACK_MS or not is_new or header.base_sequence > 0,
                "%s lets a write begin at %s, although others have held the last stable offset at %s for %s ms",
                step.machine,
                header.base_offset,
                held.first_offset,
                waits,
            )

    def high_watermark_moved(self, step: Step) -> None:
        machine, table, high_watermark = step.machine, step.machine.core.transactions, step.high_watermark
        if step.leadership is None or high_watermark is None:
            return
        stable = table.kafkas_stable_offset(high_watermark)
        write = table.ended_write_around(stable, high_watermark)
        if write is None:
            self._held.pop(machine, None)
            return
        held, epoch = self._held.get(machine), step.leadership.epoch
        if held is None or (held.epoch, held.first_offset) != (epoch, write.first_offset):
            self._held[machine] = _HeldBack(epoch, write.first_offset, write.end_offset, step.now_ms)
            return
        if held.overdue_ms is None and stable >= held.end_offset:
            held.overdue_ms = step.now_ms
        # A leader that commits nothing for longer is cut off: then nothing can end.
        held.held_ms += min(step.now_ms - held.last_ms, _LONGEST_COMMIT_MS)
        held.last_ms = step.now_ms
        detail = "%s: multipart writes that overlap have held the last stable offset at %s for %s ms"
        self.require(held.held_ms <= self._allowed_ms, detail, machine, held.first_offset, held.held_ms)


class MultipartWritesAreWhole(Invariant):
    """The parts that end with COMMIT are exactly the rows of a requested write, each task's in order, and once."""

    rules = ("TXN-2", "TXN-6", "TXN-7")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._requested: dict[WriteId, Sequence[tuple[bytes, ...]]] = {}
        self._written: dict[WriteId, Offset] = {}
        self._history = TransactionHistory()

    def multipart_requested(self, client: str, write: WriteId, tasks: Sequence[tuple[bytes, ...]]) -> None:
        self._requested[write] = tasks

    def high_watermark_moved(self, step: Step) -> None:
        for entry in newly_committed(step, self._committed):
            self._check(step.machine, entry)

    def _check(self, machine: Machine, entry: Entry) -> None:
        header = entry.header
        if isinstance(header.control_value, WriteCommit):
            self._check_commit(machine, entry, WriteId.of(header), header.control_value)
        elif not header.is_control and not header.is_transactional and header.producer_id is not None:
            self._check_small(machine, entry)
        ended = self._history.add(entry)
        if ended is not None and ended.producer_id >= FIRST_PART_PRODUCER_ID:
            is_right = ended.is_part == ended.is_committed
            self.require(
                is_right, "%s ends a part with %s, named by a commit: %s", machine, _end_of(ended), ended.is_part
            )

    def _check_commit(self, machine: Machine, entry: Entry, write: WriteId, commit: WriteCommit) -> None:
        tasks = self._requested.get(write)
        if tasks is None:
            self.fail(f"{machine} commits {write}, which no client requested")
        self._check_once(machine, write, entry)
        parts = []
        for part in commit.parts:
            transaction = self._history.open.get(part.producer_id)
            if transaction is None:
                self.fail(f"{machine} commits {write} with {part}, which is not open")
            parts.append(tuple(transaction.values))
        self.require(
            Counter(parts) == Counter(tasks), "%s commits %s with rows %s, expected %s", machine, write, parts, tasks
        )

    def _check_small(self, machine: Machine, entry: Entry) -> None:
        write = WriteId.of(entry.header)
        tasks = self._requested.get(write)
        if tasks is None:
            return
        self._check_once(machine, write, entry)
        rows = [record.value for record in read_records(entry.payload)]
        expected = [row for task in tasks for row in task]
        self.require(rows == expected, "%s commits %s with rows %s, expected %s", machine, write, rows, expected)

    def _check_once(self, machine: Machine, write: WriteId, entry: Entry) -> None:
        before = self._written.setdefault(write, entry.header.base_offset)
        self.require(before == entry.header.base_offset, "%s commits %s twice, first at %s", machine, write, before)

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        """An acknowledged write can be read: all its markers are committed."""
        if response.error != ErrorCode.NONE or WriteId.of(batch.header) not in self._requested:
            return
        write = WriteId.of(batch.header)
        self.require(write in self._written, "%s: %s was acknowledged, and is not committed", client, write)
        for transaction in self._history.open.values():
            is_open = transaction.write is not None and transaction.write.offset == self._written[write]
            self.require(not is_open, "%s: %s was acknowledged before its last marker is committed", client, write)


def _end_of(transaction: LoggedTransaction) -> ControlType:
    return ControlType.COMMIT if transaction.is_committed else ControlType.ABORT


class TransactionsAreAtomic(Invariant):
    """A transaction of a producer ends with COMMIT only if that was requested, and then with all its records. What is
    acknowledged is committed.
    """

    rules = ("TXN-3", "TXN-4", "TXN-5", "TXN-8")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._begun: dict[tuple[int, int], list[Transaction]] = {}
        self._history = TransactionHistory()
        self._ended: dict[bytes, ControlType] = {}

    def transaction_begun(self, client: str, transaction: Transaction) -> None:
        key = (transaction.producer_id, transaction.producer_epoch)
        self._begun.setdefault(key, []).append(transaction)

    def high_watermark_moved(self, step: Step) -> None:
        for entry in newly_committed(step, self._committed):
            ended = self._history.add(entry)
            if ended is None or ended.producer_id >= FIRST_PART_PRODUCER_ID:
                continue
            values = ended.values
            self._ended[values[0]] = _end_of(ended)
            if ended.is_committed:
                begun = self._begun.get((ended.producer_id, ended.producer_epoch), [])
                is_requested = any(each.wants_commit and each.values == values for each in begun)
                self.require(is_requested, "%s commits %s, which no producer requested", step.machine, values)

    def transaction_ended(self, client: str, transaction: Transaction) -> None:
        expected = ControlType.COMMIT if transaction.wants_commit else ControlType.ABORT
        end = self._ended.get(transaction.values[0])
        self.require(
            end is expected,
            "%s: the end of %s was acknowledged as %s, committed is %s",
            client,
            transaction,
            expected,
            end,
        )


class ReadersSeeCommittedTransactions(Invariant):
    """A reader of committed transactions sees the records that are committed and not aborted, and no others."""

    rules = ("TXN-1", "TXN-10")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def records_seen(self, reader: str, start_offset: Offset, end_offset: Offset, seen: Sequence[Batch]) -> None:
        entries = self._committed.model.entries
        expected = self._committed.history.visible(entries, start_offset, end_offset)
        actual = [
            (record.offset, record.value or b"")
            for batch in seen
            for record in read_records(batch.payload)
            if start_offset <= record.offset < end_offset
        ]
        self.require(
            actual == expected,
            "%s sees %s from %s to %s, expected %s",
            reader,
            actual,
            start_offset,
            end_offset,
            expected,
        )


class PlannedBatchesHaveTheirRows(Invariant):
    """A planned batch has as many data records as requested, or reaches the end of what can be read."""

    rules = ("CLIENT-15", "TXN-10")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def rows_planned(
        self, reader: str, start_offset: Offset, end_offset: Offset, stable: Offset, max_records: int
    ) -> None:
        entries = self._committed.model.entries
        rows = len(self._committed.history.visible(entries, start_offset, end_offset))
        is_right = rows == max_records or (rows < max_records and end_offset == stable)
        self.require(
            is_right,
            "%s gets a plan from %s to %s with %s rows, requested were %s; stable is %s",
            reader,
            start_offset,
            end_offset,
            rows,
            max_records,
            stable,
        )
