"""Bugs of transactions and of multipart writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from raft.compaction import snapshot_maker
from raft.core import appends, moves, transactions
from raft.core.appender import Appender
from raft.core.events import TransactionEndRequested
from raft.core.state import State
from raft.core.transaction_timeouts import TransactionTimeouts
from raft.core.write_hold import WriteHold
from raft.errors import ErrorCode
from raft.runtime.requests import fetch
from raft.snapshots import state_batches
from raft.storage import data_records
from raft.storage.aborted_index import AbortedIndex
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.transactions import (
    EndedWrite,
    OpenTransaction,
    ProducerStateImage,
    SnapshotSummary,
    TransactionalProducer,
    TransactionTable,
)
from raft.transactions.ended_writes import EndedWrites
from raft.transactions.image import NO_TRANSACTIONS
from raft.types import BatchHeader, ControlType, Offset
from raft.writers import Accepted, WriteId
from raft.writers.table import Verdict
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("TXN-1",), caught_by=("LastStableOffsetIsCorrect",))
def last_stable_offset_is_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """Open transactions do not hold the last stable offset back."""
    patch.setattr(TransactionTable, "last_stable_offset", lambda _table, high_watermark: high_watermark)


@mutation(breaks=("TXN-1",), caught_by=("LastStableOffsetIsCorrect",))
def transaction_is_stable_before_its_marker_is_committed(patch: pytest.MonkeyPatch) -> None:
    """The last stable offset passes a transaction when its marker is appended."""

    def last_stable_offset(table: TransactionTable, high_watermark: Offset) -> Offset:
        return min(high_watermark, table._first_open(high_watermark))

    patch.setattr(TransactionTable, "last_stable_offset", last_stable_offset)


@mutation(breaks=("TXN-2",), caught_by=("LastStableOffsetIsCorrect",))
def parts_of_a_write_end_one_by_one(patch: pytest.MonkeyPatch) -> None:
    """The last stable offset passes a part when its own marker is committed, although others are missing."""

    def begin_nothing(table: TransactionTable, header: BatchHeader, _commit: object) -> None:
        """The markers end the parts as they end other transactions."""

    patch.setattr(TransactionTable, "_begin_commit", begin_nothing)
    markers = transactions.commit_parts

    def commit_parts(state: State, appender: Appender) -> None:
        commit = appender._batches[-1].header.control_value
        for part in getattr(commit, "parts", ()):
            appender.add_marker(state.transactions.transactions[part.producer_id], ControlType.COMMIT)
        markers(state, appender)

    patch.setattr(appends, "commit_parts", commit_parts)


@mutation(breaks=("TXN-2",), caught_by=("LastStableOffsetIsCorrect", "ViewsEndOutsideOfWrites"))
def last_stable_offset_is_kafkas(patch: pytest.MonkeyPatch) -> None:
    """A part of a committed write is visible while another transaction is open that began within the write."""
    patch.setattr(TransactionTable, "ended_write_around", lambda _table, _stable, _high_watermark: None)


@mutation(breaks=("TXN-2",), caught_by=("LastStableOffsetIsCorrect", "ViewsEndOutsideOfWrites"))
def last_stable_offset_is_moved_out_of_one_write_only(patch: pytest.MonkeyPatch) -> None:
    """The first offset of a write may be within another write."""

    def add(writes: EndedWrites, first_offset: Offset, end_offset: Offset) -> None:
        writes._ranges.append(EndedWrite(first_offset=first_offset, end_offset=end_offset))

    patch.setattr(EndedWrites, "add", add)


@mutation(
    breaks=("TXN-2", "LOG-22"),
    caught_by=("LastStableOffsetIsCorrect", "TransactionTableMatchesLog", "SnapshotsHoldTheState"),
)
def ended_writes_forgotten_at_a_start(patch: pytest.MonkeyPatch) -> None:
    """A producer snapshot does not contain the ended writes that an open transaction holds back."""
    write = ProducerSnapshots.write

    def write_less(snapshots: ProducerSnapshots, image: ProducerStateImage, *, last_segment: Offset) -> None:
        less = replace(image.transactions, ended_writes=())
        write(snapshots, replace(image, transactions=less), last_segment=last_segment)

    patch.setattr(ProducerSnapshots, "write", write_less)


@mutation(breaks=("TXN-2",), caught_by=("LastStableOffsetIsCorrect", "TransactionTableMatchesLog"))
def ended_writes_forgotten_at_a_truncation(patch: pytest.MonkeyPatch) -> None:
    """A truncation forgets the ended writes that are committed, too."""
    truncated = TransactionTable.truncated

    def forget(table: TransactionTable, end_offset: Offset) -> None:
        truncated(table, end_offset)
        table._ended_writes.clear()

    patch.setattr(TransactionTable, "truncated", forget)


@mutation(breaks=("TXN-2", "SNAPSHOT-2"), caught_by=("SnapshotsHoldTheState", "LastStableOffsetIsCorrect"))
def snapshot_of_the_log_without_ended_writes(patch: pytest.MonkeyPatch) -> None:
    """A replica that loads a snapshot does not know within which writes a transaction is open."""

    def batches_without(state: SnapshotSummary) -> list[bytes]:
        transactions = replace(state.producers.transactions, ended_writes=())
        return state_batches(replace(state, producers=replace(state.producers, transactions=transactions)))

    patch.setattr(snapshot_maker, "state_batches", batches_without)


@mutation(breaks=("TXN-12",), caught_by=("StableOffsetMovesOn",))
def new_writes_never_wait(patch: pytest.MonkeyPatch) -> None:
    """Multipart writes that overlap each other hold the last stable offset back without end."""
    patch.setattr(WriteHold, "is_active", lambda _hold, _now_ms: False)


@mutation(breaks=("TXN-7",), caught_by=("QuorumRecovers", "MultipartWritesAreWhole"), needs=needs.multipart_writes)
def new_leader_does_not_complete_commits(patch: pytest.MonkeyPatch) -> None:
    """A new leader does not append the markers that are missing."""
    patch.setattr(moves, "take_over_transactions", lambda *_: None)


@mutation(breaks=("TXN-7",), caught_by=("QuorumRecovers", "MultipartWritesAreWhole"), needs=needs.multipart_writes)
def new_leader_leaves_commits_without_markers(patch: pytest.MonkeyPatch) -> None:
    """A new leader starts the timeouts of open transactions, and does not append the markers that are missing."""
    patch.setattr(transactions, "commit_parts", lambda *_: None)


@mutation(breaks=("TXN-6",), caught_by=("MultipartWritesAreWhole", "NoUnexpectedErrors"))
def commit_accepts_parts_that_are_not_open(patch: pytest.MonkeyPatch) -> None:
    """A commit is accepted although a part was aborted."""
    patch.setattr(appends, "unfit_parts", lambda *_: None)


@mutation(breaks=("TXN-6",), caught_by=("MultipartWritesAreWhole",))
def other_parts_are_committed_too(patch: pytest.MonkeyPatch) -> None:
    """The parts of attempts that were not chosen end with COMMIT."""

    def abort_parts(state: State, appender: Appender, write: WriteId, *, but: Iterable[int] = ()) -> None:
        for transaction in state.transactions.parts(write.tag):
            if transaction.producer_id not in but:
                appender.add_marker(transaction, ControlType.COMMIT)

    patch.setattr(appends, "abort_parts", abort_parts)


@mutation(breaks=("TXN-6",), caught_by=("MultipartWritesAreWhole",))
def chosen_parts_are_aborted_with_the_others(patch: pytest.MonkeyPatch) -> None:
    """All parts of a write are aborted before its commit."""
    abort_parts = transactions.abort_parts

    def abort_all(state: State, appender: Appender, write: WriteId, *, but: Iterable[int] = ()) -> None:
        abort_parts(state, appender, write)

    patch.setattr(appends, "abort_parts", abort_all)


@mutation(breaks=("TXN-6", "HW-6"), caught_by=("MultipartWritesAreWhole",))
def commit_acknowledged_before_its_last_marker(patch: pytest.MonkeyPatch) -> None:
    """A multipart write is acknowledged when its commit record is committed."""
    patch.setattr(TransactionTable, "ends_committed_at", Offset(0))
    wait = appends._wait_for_commit

    def wait_for_the_record(
        state: State, event: object, base_offset: Offset, _end: Offset, *rest: object, **named: object
    ) -> None:
        wait(state, event, base_offset, Offset(base_offset + 1), *rest, **named)  # type: ignore[arg-type]

    patch.setattr(appends, "_wait_for_commit", wait_for_the_record)


@mutation(breaks=("TXN-6",), caught_by=("MultipartWritesAreWhole", "WritersKeepTheirOrder", "WrittenOnce"))
def commit_is_always_new(patch: pytest.MonkeyPatch) -> None:
    """The key of a multipart write is not compared with the writes in the log."""
    judge = appends._judge

    def judge_without_key(state: State, event: object) -> Verdict:
        verdict = judge(state, event)  # type: ignore[arg-type]
        header = event.batch.header  # type: ignore[attr-defined]
        return Accepted() if header.control_value is not None and not isinstance(verdict, Accepted) else verdict

    patch.setattr(appends, "_judge", judge_without_key)


@mutation(breaks=("TXN-4",), caught_by=("TransactionsAreAtomic",))
def end_acknowledged_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    """The end of a transaction is acknowledged when its marker is appended."""

    def respond(
        state: State, event: TransactionEndRequested, _end: Offset, _now_ms: int, *, producer: object = None
    ) -> None:
        state.respond_to_append(event.request_id, ErrorCode.NONE, producer=producer)  # type: ignore[arg-type]

    patch.setattr(transactions, "_wait_for_commit", respond)


@mutation(breaks=("TXN-4",), caught_by=("TransactionsAreAtomic", "MultipartWritesAreWhole"))
def aborts_commit(patch: pytest.MonkeyPatch) -> None:
    """A producer's abort writes a COMMIT marker."""
    add_marker = Appender.add_marker

    def commit_always(
        appender: Appender, transaction: OpenTransaction, end: ControlType, *, is_fencing: bool = False
    ) -> None:
        add_marker(appender, transaction, ControlType.COMMIT if is_fencing else end, is_fencing=is_fencing)

    patch.setattr(Appender, "add_marker", commit_always)


@mutation(breaks=("TXN-4",), caught_by=("TransactionsAreAtomic",))
def producer_keeps_its_epoch_after_a_transaction(patch: pytest.MonkeyPatch) -> None:
    """A late request ends the next transaction of a producer, because both have one epoch."""
    add_marker = Appender.add_marker

    def without_fence(
        appender: Appender, transaction: OpenTransaction, end: ControlType, *, is_fencing: bool = False
    ) -> None:
        add_marker(appender, transaction, end)

    patch.setattr(Appender, "add_marker", without_fence)


@mutation(breaks=("TXN-3",), caught_by=("TransactionsAreAtomic",))
def zombie_is_not_fenced(patch: pytest.MonkeyPatch) -> None:
    """A producer begins with the epoch of the one before, whose requests are still accepted."""
    patch.setattr(TransactionalProducer, "ended_by", lambda producer, _header, _end: producer)
    add_value = Appender.add_value

    def same_epoch(appender: Appender, kind: ControlType, value: object, producer_id: int, epoch: int) -> None:
        add_value(appender, kind, value, producer_id, 0)  # type: ignore[arg-type]

    patch.setattr(Appender, "add_value", same_epoch)


@mutation(breaks=("TXN-8",), caught_by=("QuorumRecovers",), needs=needs.multipart_writes)
def transactions_never_time_out(patch: pytest.MonkeyPatch) -> None:
    """The parts of a killed task stay open."""
    patch.setattr(TransactionTimeouts, "start", lambda *_: None)


@mutation(breaks=("TXN-1",), caught_by=("TransactionTableMatchesLog",))
def truncated_transactions_are_kept(patch: pytest.MonkeyPatch) -> None:
    """Truncation does not undo the table of transactions."""
    patch.setattr(TransactionTable, "truncated", lambda _table, _end_offset: None)


@mutation(breaks=("LOG-22",), caught_by=("TransactionTableMatchesLog", "SnapshotsHoldTheState"))
def snapshot_without_transactions(patch: pytest.MonkeyPatch) -> None:
    """A producer snapshot does not contain the transactions."""
    write = ProducerSnapshots.write

    def write_less(snapshots: ProducerSnapshots, image: ProducerStateImage, *, last_segment: Offset) -> None:
        write(snapshots, replace(image, transactions=NO_TRANSACTIONS), last_segment=last_segment)

    patch.setattr(ProducerSnapshots, "write", write_less)


@mutation(breaks=("TXN-10",), caught_by=("ReadersSeeCommittedTransactions", "ReadersSeeTheState"))
def aborted_transactions_are_not_named(patch: pytest.MonkeyPatch) -> None:
    """Fetch responses do not name the aborted transactions."""
    patch.setattr(fetch, "aborted_among", lambda *_: [])


@mutation(
    breaks=("TXN-10",),
    caught_by=(
        "AbortedIndexMatchesLog",
        "ReadersSeeCommittedTransactions",
        "ReadersSeeTheState",
        "SnapshotsHoldTheState",
    ),
)
def index_of_aborted_transactions_is_empty_after_a_start(patch: pytest.MonkeyPatch) -> None:
    """A start does not build the index of aborted transactions."""
    patch.setattr("raft.storage.opened_log.AbortedFinder.appended", lambda _finder, _header: None)


@mutation(breaks=("TXN-10",), caught_by=("AbortedIndexMatchesLog", "ReadersSeeCommittedTransactions"))
def truncated_aborts_stay_in_the_index(patch: pytest.MonkeyPatch) -> None:
    """Truncation does not remove aborted transactions from the index."""
    patch.setattr(AbortedIndex, "truncate", lambda _index, _end_offset: None)


@mutation(breaks=("CLIENT-15", "TXN-10"), caught_by=("PlannedBatchesHaveTheirRows",))
def markers_count_as_rows(patch: pytest.MonkeyPatch) -> None:
    """A plan counts the control records of transactions as rows."""
    patch.setattr(data_records, "_transactional_ranges", lambda *_: [])
