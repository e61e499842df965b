"""InitProducerId, AddPartitionsToTxn, EndTxn and WriteTxnMarkers. The leader coordinates all transactions (rules TXN).

A request that gets no response in time, or comes to another node, is refused with NOT_COORDINATOR: every client then
looks for the coordinator and sends the request again. The leader recognizes a repeated one.
"""

from __future__ import annotations

from collections.abc import Callable

from raft.codec import Message
from raft.core.effects import SendResponse
from raft.core.events import ProducerInitRequested, TransactionEndRequested
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.refusals import at_top
from raft.types import ControlType
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
)
from raft.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from raft.writers import is_reserved

LONGEST_TRANSACTIONAL_ID_BYTES = 1_000
"""Ten thousand of them are remembered."""

_PRODUCER_IDS = 1 << 61
_WAIT_MS = 30_000
_FIRST_INIT_WITH_FENCED = 4
_FIRST_END_WITH_FENCED = 2
_FIRST_END_WITH_EPOCH = 5
_UNKNOWN_OUTCOMES = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT)


def init_producer_id(context: Context, request: Request[InitProducerIdRequest]) -> InitProducerIdResponse | None:
    """Handle InitProducerId: on every node without a transactional id, because producer ids are random (CLIENT-7)."""
    message, version = request.message, request.version
    name = message.transactional_id
    if name is None:
        producer_id = context.draw(_PRODUCER_IDS)
        return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)
    if not _is_valid(name) or context.config.records_strict or message.enable_2pc or message.keep_prepared_txn:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)

    def on_response(response: AppendResponse) -> None:
        error = _error_of(response, knows_fenced=version >= _FIRST_INIT_WITH_FENCED)
        producer_id, producer_epoch = _producer_of(response)
        request.respond(
            InitProducerIdResponse(error_code=error, producer_id=producer_id, producer_epoch=producer_epoch)
        )

    context.engine.submit(
        ProducerInitRequested(
            request_id=_expect(context, on_response),
            transactional_id=name,
            transaction_timeout_ms=message.transaction_timeout_ms,
            new_producer_id=context.draw(_PRODUCER_IDS),
            present=(message.producer_id, message.producer_epoch) if message.producer_id >= 0 else None,
            timeout_ms=_WAIT_MS,
        )
    )
    return None


def refuse_init_producer_id(request: InitProducerIdRequest, version: int) -> Message | None:
    """Refuse InitProducerId; without a transactional id the cluster refuses it."""
    has_id = request.transactional_id is not None
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if has_id else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return at_top(code)(request, version)


def _is_valid(name: str) -> bool:
    return 0 < len(name.encode()) <= LONGEST_TRANSACTIONAL_ID_BYTES and not is_reserved(name)


def add_partitions_to_txn(context: Context, request: Request[AddPartitionsToTxnRequest]) -> AddPartitionsToTxnResponse:
    """Handle AddPartitionsToTxn: check the producer. A transaction begins with its first batch, which names it."""
    error = _producer_error(context, request.message, knows_fenced=request.version >= _FIRST_END_WITH_FENCED)
    return AddPartitionsToTxnResponse(
        results_by_topic=tuple(
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=tuple(
                    AddPartitionsToTxnPartitionResult(
                        partition_index=partition,
                        partition_error_code=_partition_error(context, topic.name, partition, error),
                    )
                    for partition in topic.partitions
                ),
            )
            for topic in request.message.topics
        )
    )


def _producer_error(context: Context, request: AddPartitionsToTxnRequest, *, knows_fenced: bool) -> ErrorCode:
    if not context.is_leader:
        return ErrorCode.NOT_COORDINATOR
    producer = context.engine.core.transactions.producers.get(request.transactional_id)
    if producer is None or producer.producer_id != request.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer.producer_epoch != request.producer_epoch:
        return ErrorCode.PRODUCER_FENCED if knows_fenced else ErrorCode.INVALID_PRODUCER_EPOCH
    return ErrorCode.NONE


def end_txn(context: Context, request: Request[EndTxnRequest]) -> None:
    """Handle EndTxn. The response is sent when the marker is committed."""
    message, version = request.message, request.version

    def on_response(response: AppendResponse) -> None:
        error = _error_of(response, knows_fenced=version >= _FIRST_END_WITH_FENCED)
        producer_id, producer_epoch = _producer_of(response)
        request.respond(EndTxnResponse(error_code=error, producer_id=producer_id, producer_epoch=producer_epoch))

    context.engine.submit(
        TransactionEndRequested(
            request_id=_expect(context, on_response),
            transactional_id=message.transactional_id,
            producer_id=message.producer_id,
            producer_epoch=message.producer_epoch,
            end=ControlType.COMMIT if message.committed else ControlType.ABORT,
            new_producer_id=context.draw(_PRODUCER_IDS) if version >= _FIRST_END_WITH_EPOCH else None,
            timeout_ms=_WAIT_MS,
        )
    )


def write_txn_markers(context: Context, request: Request[WriteTxnMarkersRequest]) -> None:
    """Handle WriteTxnMarkers: an operator aborts transactions."""
    _Markers(context, request).end_next()


class _Markers:
    """The markers of one request, one after the other: there may be thousands, and appends come between them."""

    def __init__(self, context: Context, request: Request[WriteTxnMarkersRequest]) -> None:
        self._context = context
        self._markers = request.message.markers
        self._request = request
        self._results: list[WritableTxnMarkerResult] = []

    def end_next(self) -> None:
        """End the next transaction; respond after the last one."""
        if len(self._results) == len(self._markers):
            self._request.respond(WriteTxnMarkersResponse(markers=tuple(self._results)))
            return
        context, marker = self._context, self._markers[len(self._results)]
        request_id = _expect(context, self._on_response)
        self._request.when_gone(lambda: context.engine.abandon(request_id))
        context.engine.submit(
            TransactionEndRequested(
                request_id=request_id,
                transactional_id=None,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                end=ControlType.COMMIT if marker.transaction_result else ControlType.ABORT,
                timeout_ms=_WAIT_MS,
            )
        )

    def _on_response(self, response: AppendResponse) -> None:
        marker = self._markers[len(self._results)]
        # This request is for a partition's leader, not for a coordinator.
        self._results.append(_marker_result(self._context, marker, ErrorCode(response.error)))
        self.end_next()


def _marker_result(context: Context, marker: WritableTxnMarker, error: ErrorCode) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=tuple(
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=tuple(
                    WritableTxnMarkerPartitionResult(
                        partition_index=partition,
                        error_code=_partition_error(context, topic.name, partition, error),
                    )
                    for partition in topic.partition_indexes
                ),
            )
            for topic in marker.topics
        ),
    )


def _expect(context: Context, on_response: Callable[[AppendResponse], None]) -> int:
    def on_core_response(effect: SendResponse) -> None:
        assert isinstance(effect.response, AppendResponse), "the response to a change of a transaction"
        on_response(effect.response)

    return context.engine.expect_response(on_core_response)


def _partition_error(context: Context, topic: str, partition: int, error: ErrorCode) -> ErrorCode:
    """Return the error of our partition, and another one for every other partition."""
    return error if context.is_ours_by_name(topic, partition) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _producer_of(response: AppendResponse) -> tuple[int, int]:
    """Return the producer id and epoch of a response; -1 for each if it has none."""
    producer = response.producer
    return (-1, -1) if producer is None else (producer.producer_id, producer.producer_epoch)


def _error_of(response: AppendResponse, *, knows_fenced: bool) -> ErrorCode:
    error = ErrorCode(response.error)
    if error in _UNKNOWN_OUTCOMES:
        return ErrorCode.NOT_COORDINATOR
    if error == ErrorCode.PRODUCER_FENCED and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
