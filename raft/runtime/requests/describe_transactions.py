"""ListTransactions, DescribeTransactions and DescribeProducers: what `kafka-transactions` asks (rule TXN-9).

A part of a multipart write has no transactional id in the log. It is listed as `kraft-part:<producer id>`.

There may be tens of thousands of transactions. So the lists of them share the memory of the responses to fetches, and
take a small part of the node's time (`ListPace`). A request for which there is no room or no time is refused with an
error after which clients retry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.response_budget import Permit
from raft.transactions import OpenTransaction, TransactionalProducer
from raft.wire.mapping.partition import INDEX
from raft.wire.messages.describe_transactions import (
    DescribedPartition,
    DescribedTopic,
    DescribedTransaction,
    DescribedTransactionTopic,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
    ProducerState,
)

_ONGOING = "Ongoing"
_EMPTY = "Empty"
_STATES = frozenset(
    (_EMPTY, _ONGOING, "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence")
)
"""The states of Kafka. Here a transaction is open or not, because its marker is its decision."""

_PART_PREFIX = "kraft-part:"
_PRODUCER_ID = re.compile(r"[0-9]{1,19}")
"""Python refuses to read a number of thousands of digits."""

_LISTED_BYTES = 200
"""Memory of one entry of a list, as an object and encoded, without its name."""


def list_transactions(context: Context, request: Request[ListTransactionsRequest]) -> ListTransactionsResponse | None:
    """Handle ListTransactions. Only the leader coordinates transactions; other nodes list none."""
    if not context.is_leader:
        return ListTransactionsResponse(error_code=ErrorCode.NONE)
    table = context.engine.core.transactions
    permit = _permit(context, len(table.producers) + len(table.transactions), sum(map(len, table.producers)))
    if permit is None:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    message = request.message
    is_wanted = _filter_of(message)
    response = ListTransactionsResponse(
        error_code=ErrorCode.NONE,
        unknown_state_filters=tuple(state for state in message.state_filters if state not in _STATES),
        transaction_states=tuple(listed for listed, duration_ms in _all(context) if is_wanted(listed, duration_ms)),
    )
    request.respond(response, permit)
    return None


def _permit(context: Context, entries: int, names_bytes: int) -> Permit | None:
    """Return the permit for a list; None if there is no room or no time for it now."""
    permit = context.responses.take(names_bytes + _LISTED_BYTES * entries)
    if permit is None or context.lists.allows(entries, context.scheduler.now_ms()):
        return permit
    context.responses.release(permit)
    return None


def _all(context: Context) -> Iterator[tuple[ListedTransaction, int]]:
    """Yield each transactional id, and how long its transaction has been open."""
    table, now_ms = context.engine.core.transactions, context.scheduler.wall_clock_ms()
    for producer in table.producers.values():
        transaction = table.transactions.get(producer.producer_id)
        yield _listed(producer.name, producer.producer_id, transaction), _duration_ms(transaction, now_ms)
    for producer_id, transaction in table.transactions.items():
        if table.producer_with(producer_id) is None:
            name = f"{_PART_PREFIX}{producer_id}"
            yield _listed(name, producer_id, transaction), _duration_ms(transaction, now_ms)


def _listed(name: str, producer_id: int, transaction: OpenTransaction | None) -> ListedTransaction:
    state = _EMPTY if transaction is None else _ONGOING
    return ListedTransaction(transactional_id=name, producer_id=producer_id, transaction_state=state)


def _duration_ms(transaction: OpenTransaction | None, now_ms: int) -> int:
    return 0 if transaction is None else now_ms - transaction.first_timestamp_ms


def _filter_of(request: ListTransactionsRequest) -> Callable[[ListedTransaction, int], bool]:
    # Sets, because a request may have thousands of ids, and each is compared with thousands of transactions.
    states, producer_ids = frozenset(request.state_filters), frozenset(request.producer_id_filters)

    def is_wanted(listed: ListedTransaction, duration_ms: int) -> bool:
        return (
            (not states or listed.transaction_state in states)
            and (not producer_ids or listed.producer_id in producer_ids)
            and (request.duration_filter < 0 or duration_ms > request.duration_filter)
        )

    return is_wanted


def describe_transactions(
    context: Context, request: Request[DescribeTransactionsRequest]
) -> DescribeTransactionsResponse:
    """Handle DescribeTransactions on the leader."""
    names = dict.fromkeys(request.message.transactional_ids)
    return DescribeTransactionsResponse(transaction_states=tuple(_described(context, name) for name in names))


def _described(context: Context, name: str) -> DescribedTransaction:
    if not context.is_leader:
        return DescribedTransaction(error_code=ErrorCode.NOT_COORDINATOR, transactional_id=name)
    table = context.engine.core.transactions
    producer = table.producers.get(name) or _part(context, name)
    if producer is None:
        return DescribedTransaction(error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id=name)
    transaction = table.transactions.get(producer.producer_id)
    ours = DescribedTransactionTopic(topic=context.ours.topic_name, partitions=(INDEX,))
    return DescribedTransaction(
        error_code=ErrorCode.NONE,
        transactional_id=name,
        transaction_state=_EMPTY if transaction is None else _ONGOING,
        transaction_timeout_ms=producer.timeout_ms,
        transaction_start_time_ms=-1 if transaction is None else transaction.first_timestamp_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=() if transaction is None else (ours,),
    )


def _part(context: Context, name: str) -> TransactionalProducer | None:
    """Return the producer of an open part, by the name under which it is listed."""
    if not name.startswith(_PART_PREFIX):
        return None
    number = name.removeprefix(_PART_PREFIX)
    if not _PRODUCER_ID.fullmatch(number):
        return None
    transaction = context.engine.core.transactions.transactions.get(int(number))
    if transaction is None:
        return None
    return TransactionalProducer(
        name=name,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        timeout_ms=context.config.transaction_max_timeout_ms,
        used_at=transaction.first_offset,
    )


def describe_producers(context: Context, request: Request[DescribeProducersRequest]) -> None:
    """Handle DescribeProducers on the leader: the producers with an open transaction.

    A topic or a partition that is named several times is described once.
    """
    indexes: dict[str, dict[int, None]] = {}
    for topic in request.message.topics:
        indexes.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    permit = _permit(context, len(context.engine.core.transactions.transactions), 0)
    response = DescribeProducersResponse(
        topics=tuple(
            DescribedTopic(
                name=name,
                partitions=tuple(
                    _partition(context, name, partition, has_room=permit is not None) for partition in partitions
                ),
            )
            for name, partitions in indexes.items()
        )
    )
    request.respond(response, permit)


def _partition(context: Context, topic: str, partition: int, *, has_room: bool) -> DescribedPartition:
    if not context.is_ours_by_name(topic, partition):
        return DescribedPartition(partition_index=partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not context.is_leader:
        return DescribedPartition(partition_index=partition, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if not has_room:
        return DescribedPartition(partition_index=partition, error_code=ErrorCode.REQUEST_TIMED_OUT)
    return DescribedPartition(
        partition_index=partition,
        error_code=ErrorCode.NONE,
        active_producers=tuple(
            ProducerState(
                producer_id=transaction.producer_id,
                producer_epoch=transaction.producer_epoch,
                last_timestamp=transaction.last_timestamp_ms,
                current_txn_start_offset=transaction.first_offset,
            )
            for transaction in context.engine.core.transactions.transactions.values()
        ),
    )
