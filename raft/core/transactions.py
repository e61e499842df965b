"""Transactions on the leader: their batches, ends and timeouts, and multipart writes (rules TXN).

A leader's log never holds a WRITE_COMMIT without all its COMMIT markers: both are appended together, and a new leader
appends what is missing when it is elected.

Source: KIP-98; Kafka TransactionCoordinator, ProducerStateManager.
"""

from __future__ import annotations

from collections.abc import Iterable

from raft.core.appender import LAST_PRODUCER_EPOCH, Appender
from raft.core.disk_room import FULL_DISK
from raft.core.events import AppendRequested, ProducerInitRequested, TransactionEndRequested
from raft.core.read_index import respond_when_confirmed, wait_for_commit
from raft.core.roles import Leader
from raft.core.state import State
from raft.core.waiting_requests import PendingAppend
from raft.errors import ErrorCode
from raft.transactions import OpenTransaction, TransactionalProducer
from raft.types import BatchHeader, ControlType, Offset, TransactionalId, WriteCommit, WritePart
from raft.writers import Accepted, Refused, Verdict, WriteId, is_part, judge_idempotent_produce, tag_of

MAX_OPEN_TRANSACTIONS = 40_000
"""Most open transactions. Each takes about a kilobyte, and a multipart write has one for each of its tasks."""

ABORTED_AT_ONCE = 200
"""Most overdue transactions that one event aborts, which takes about 6 ms."""


# Batches


def judge_transactional(state: State, event: AppendRequested) -> Verdict:
    """Decide whether a batch of a transaction is new: one of a part, or of a producer with a transactional id."""
    header, name = event.batch.header, event.transactional_id
    assert header.producer_id is not None, "a transactional batch without a producer id is refused before"
    if name is None:
        return Refused(error=ErrorCode.INVALID_TXN_STATE, message="a transactional batch without a transactional id")
    write = WriteId.parse(name)
    verdict = (
        _judge_part(state, header, header.producer_id, write)
        if write is not None
        else _judge_of_producer(state, header, header.producer_id, name)
    )
    opens = isinstance(verdict, Accepted) and header.producer_id not in state.transactions.transactions
    if opens and len(state.transactions.transactions) >= MAX_OPEN_TRANSACTIONS:
        return Refused(
            error=ErrorCode.POLICY_VIOLATION, message=f"{MAX_OPEN_TRANSACTIONS} transactions are open, the most allowed"
        )
    return verdict


def _judge_part(state: State, header: BatchHeader, producer_id: int, write: WriteId) -> Verdict:
    if not is_part(header) or tag_of(producer_id) != write.tag:
        return Refused(
            error=ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            message=f"producer id {producer_id} is not one of a part of {write.transactional_id}",
        )
    written = state.writers.newest_write(write.producer_id)
    if written is not None and written.version >= write.version:
        # The write is in the log already. Its repeated parts would be open for nothing.
        return Refused(
            error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, base_offset=written.base_offset, end_offset=written.end_offset
        )
    transaction = state.transactions.transactions.get(producer_id)
    return judge_idempotent_produce(transaction.history if transaction is not None else None, header)


def _judge_of_producer(state: State, header: BatchHeader, producer_id: int, name: str) -> Verdict:
    producer = state.transactions.producers.get(name)
    if producer is None or producer.producer_id != producer_id:
        return Refused(
            error=ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            message=f"transactional id {name} does not have producer id {producer_id}",
        )
    if producer.producer_epoch != header.producer_epoch:
        return Refused(
            error=ErrorCode.INVALID_PRODUCER_EPOCH,
            message=f"transactional id {name} has producer epoch {producer.producer_epoch}, not "
            f"{header.producer_epoch}: another producer has taken its place, or its transaction timed out",
        )
    return state.writers.judge(header)


def start_timeout(state: State, header: BatchHeader, now_ms: int) -> None:
    """Start the timeout of the transaction that a batch belongs to; one that runs already goes on."""
    assert header.producer_id is not None, "a transactional batch has a producer id"
    _start_timeout(state, header.producer_id, now_ms)


def _start_timeout(state: State, producer_id: int, now_ms: int) -> None:
    assert isinstance(state.role, Leader), "only a leader ends transactions"
    producer = state.transactions.producer_with(producer_id)
    timeout_ms = state.config.transaction_max_timeout_ms
    if producer is not None:
        timeout_ms = min(timeout_ms, producer.timeout_ms)
    state.role.timeouts.start(producer_id, now_ms + timeout_ms)


# Multipart writes


def unfit_parts(state: State, header: BatchHeader, commit: WriteCommit) -> Refused | None:
    """Return why the parts of a WRITE_COMMIT cannot be committed; None if all are open and whole."""
    write = WriteId.of(header)
    if len({part.producer_id for part in commit.parts}) < len(commit.parts):
        return Refused(error=ErrorCode.INVALID_RECORD, message="a WRITE_COMMIT that names a part twice")
    for part in commit.parts:
        problem = _problem_of(part, write, state.transactions.transactions.get(part.producer_id))
        if problem:
            return Refused(
                error=ErrorCode.INVALID_TXN_STATE,
                message=f"the write {write.transactional_id} cannot be committed: {problem}",
            )
    return None


def _problem_of(part: WritePart, write: WriteId, transaction: OpenTransaction | None) -> str | None:
    if transaction is None or tag_of(part.producer_id) != write.tag:
        return (
            f"its part with producer id {part.producer_id} is not open: it was aborted, because the write took longer "
            "than transaction.max.timeout.ms, or because another driver has written or aborted the same write"
        )
    if not transaction.is_whole(part):
        return (
            f"its part with producer id {part.producer_id} has {transaction.record_count} records with content "
            f"checksum {transaction.content_checksum:016x}, and the task sent {part.record_count} with "
            f"{part.content_checksum:016x}"
        )
    return None


def abort_parts(state: State, appender: Appender, write: WriteId, *, but: Iterable[int] = ()) -> None:
    """Abort the open parts of a write, except those with the producer ids `but`.

    A leader does that before it appends the write. So if a part of its appends is lost, the markers that remain end
    only parts that no later commit of the same write can name.
    """
    kept = frozenset(but)
    for transaction in state.transactions.parts(write.tag):
        if transaction.producer_id not in kept:
            appender.add_marker(transaction, ControlType.ABORT)


def commit_parts(state: State, appender: Appender) -> None:
    """Append the COMMIT markers that are missing for the commits in the log."""
    for transaction in state.transactions.unmarked:
        appender.add_marker(transaction, ControlType.COMMIT)


def take_over_transactions(state: State, appender: Appender, now_ms: int) -> None:
    """Complete the commits of the former leader, and start the timeouts of the open transactions."""
    commit_parts(state, appender)
    for producer_id in state.transactions.transactions:
        _start_timeout(state, producer_id, now_ms)


# Producers with a transactional id


def on_producer_init(state: State, event: ProducerInitRequested, now_ms: int) -> None:
    """Give a transactional id its next producer epoch, which fences the producer before; abort its transaction.

    Source: Kafka TransactionCoordinator.handleInitProducerId.
    """
    if not isinstance(state.role, Leader):
        state.respond_to_append(event.request_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    if not 0 < event.transaction_timeout_ms <= state.config.transaction_max_timeout_ms:
        message = (
            f"transaction timeout of {event.transaction_timeout_ms} ms, expected 1 to "
            f"{state.config.transaction_max_timeout_ms} (transaction.max.timeout.ms)"
        )
        state.respond_to_append(event.request_id, ErrorCode.INVALID_TRANSACTION_TIMEOUT, message=message)
        return
    if not state.disk_room.holds(1):
        state.respond_to_append(event.request_id, ErrorCode.STORAGE_ERROR, message=FULL_DISK)
        return
    before = state.transactions.producers.get(event.transactional_id)
    if before is not None and event.present is not None and event.present != before.identity:
        if event.present == before.previous:
            # The request is repeated, because its response was lost; or the leader has aborted its transaction.
            _wait_for_commit(state, event, state.log.end_offset, now_ms, producer=before)
        else:
            state.respond_to_append(event.request_id, ErrorCode.PRODUCER_FENCED)
        return
    appender = Appender(state)
    transaction = state.transactions.transactions.get(before.producer_id) if before is not None else None
    if transaction is not None:
        appender.add_marker(transaction, ControlType.ABORT, is_fencing=True)
    producer_id, epoch = event.new_producer_id, 0
    if before is not None and before.producer_epoch + 1 < LAST_PRODUCER_EPOCH:
        producer_id, epoch = before.producer_id, before.producer_epoch + 1
    value = TransactionalId(
        name=event.transactional_id, timeout_ms=event.transaction_timeout_ms, previous=event.present
    )
    appender.add_value(ControlType.TRANSACTIONAL_ID, value, producer_id, epoch)
    producer = state.transactions.producers[event.transactional_id]
    _wait_for_commit(state, event, state.log.end_offset, now_ms, producer=producer)
    appender.finish(now_ms)


# Ends


def on_transaction_end(state: State, event: TransactionEndRequested, now_ms: int) -> None:
    """End a transaction, or abort all parts of a write; a repeated request gets the same response.

    Source: Kafka TransactionCoordinator.endTransaction.
    """
    if not isinstance(state.role, Leader):
        state.respond_to_append(event.request_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    appender, end_before = Appender(state), state.log.end_offset
    write = WriteId.parse(event.transactional_id) if event.transactional_id is not None else None
    producer: TransactionalProducer | None = None
    if write is not None:
        refusal = _abort_write(state, appender, write, event)
    elif event.transactional_id is None:
        refusal = _abort_for_operator(state, appender, event)
    else:
        refusal = _end_of_producer(state, appender, event.transactional_id, event)
    if refusal is not None:
        state.respond_to_append(event.request_id, refusal.error, message=refusal.message)
        return
    if write is None and event.transactional_id is not None:
        producer = state.transactions.producers[event.transactional_id]
    if state.log.end_offset == end_before:
        # A successor that this leader does not know of may have a transaction to end.
        respond_when_confirmed(state, _pending(state, event, end_before, now_ms, producer=producer))
        return
    _wait_for_commit(state, event, state.log.end_offset, now_ms, producer=producer)
    appender.finish(now_ms)


def _abort_write(state: State, appender: Appender, write: WriteId, event: TransactionEndRequested) -> Refused | None:
    if event.end is not ControlType.ABORT:
        return Refused(
            error=ErrorCode.INVALID_TXN_STATE, message="a multipart write is committed by a WRITE_COMMIT record"
        )
    abort_parts(state, appender, write)
    return None


def _abort_for_operator(state: State, appender: Appender, event: TransactionEndRequested) -> Refused | None:
    if event.end is not ControlType.ABORT:
        return Refused(error=ErrorCode.INVALID_TXN_STATE, message="only its producer can commit a transaction")
    transaction = state.transactions.transactions.get(event.producer_id)
    if transaction is not None:
        appender.add_marker(transaction, ControlType.ABORT, is_fencing=True)
    return None


def _end_of_producer(state: State, appender: Appender, name: str, event: TransactionEndRequested) -> Refused | None:
    """End the transaction of a producer.

    Without an open transaction the request is repeated, or the transaction has no records. If the leader had aborted
    it, the producer would have a lower epoch.

    A request may come late, after the producer has begun its next transaction, and would end that one. So newer clients
    go on with the next epoch after each transaction (KIP-890).
    """
    producer, requested = state.transactions.producers.get(name), (event.producer_id, event.producer_epoch)
    bumps_epoch = event.new_producer_id is not None
    if producer is not None and bumps_epoch and (producer.previous, producer.last_end) == (requested, event.end):
        return None  # The request is repeated, because its response was lost.
    if producer is None or producer.producer_id != event.producer_id:
        return Refused(error=ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.producer_epoch != event.producer_epoch:
        return Refused(error=ErrorCode.PRODUCER_FENCED)
    transaction = state.transactions.transactions.get(event.producer_id)
    if transaction is not None:
        appender.add_marker(transaction, event.end, is_fencing=bumps_epoch)
    ended = state.transactions.producers[name]
    if event.new_producer_id is not None and ended.producer_epoch == LAST_PRODUCER_EPOCH:
        value = TransactionalId(name=name, timeout_ms=ended.timeout_ms, previous=ended.previous)
        appender.add_value(ControlType.TRANSACTIONAL_ID, value, event.new_producer_id, 0)
    return None


def abort_overdue_transactions(state: State, now_ms: int) -> None:
    """Abort the transactions that were open for longer than their timeout, some at a time.

    Those that were open when the leader was elected are overdue together. The next event aborts more of them, and
    between the two the node does its other work.
    """
    if not isinstance(state.role, Leader):
        return
    overdue = state.role.timeouts.overdue(now_ms, at_most=ABORTED_AT_ONCE)
    if not overdue:
        return
    appender = Appender(state)
    for producer_id in overdue:
        transaction = state.transactions.transactions[producer_id]
        state.report(
            f"transaction of producer id {producer_id} is aborted: open for longer than its timeout, "
            f"first offset {transaction.first_offset}, {transaction.record_count} records"
        )
        appender.add_marker(transaction, ControlType.ABORT, is_fencing=True)
    appender.finish(now_ms)


def _wait_for_commit(
    state: State,
    event: ProducerInitRequested | TransactionEndRequested,
    end_offset: Offset,
    now_ms: int,
    *,
    producer: TransactionalProducer | None = None,
) -> None:
    """Respond when everything below `end_offset` is committed, and every transaction that has ended so far."""
    wait_for_commit(state, _pending(state, event, end_offset, now_ms, producer=producer))


def _pending(
    state: State,
    event: ProducerInitRequested | TransactionEndRequested,
    end_offset: Offset,
    now_ms: int,
    *,
    producer: TransactionalProducer | None,
) -> PendingAppend:
    return PendingAppend(
        request_id=event.request_id,
        end_offset=max(end_offset, state.transactions.ends_committed_at),
        error=ErrorCode.NONE,
        producer=producer,
        deadline_ms=now_ms + event.timeout_ms,
    )
