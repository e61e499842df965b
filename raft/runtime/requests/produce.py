"""Produce and InitProducerId: how clients append (rules CLIENT-6..8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from raft.core.effects import SendResponse
from raft.core.events import AppendRequested
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, RequestError
from raft.records.header import is_compressed
from raft.records.produced import read_produced_batch
from raft.runtime.caller import Caller
from raft.runtime.requests.context import Context
from raft.runtime.respond import Respond
from raft.types import Batch, BatchHeader, LeaderAndEpoch
from raft.wire.mapping.partition import or_minus_one
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.nodes import BrokerEndpoint, LeaderIdAndEpoch
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)

_FIRST_BY_TOPIC_ID = 13
_FIRST_WITH_LEADER = 10
_PRODUCER_IDS = 1 << 61
_QUICK_BYTES = 256 << 10
"""Up to so many bytes of batches are checked on the loop; it takes a fraction of a millisecond."""


class _Checked(NamedTuple):
    """What came of the batch for one partition: the batch to append, the answer that refuses it, or None where this
    node does not lead.

    The error itself is not kept. It refers to the frames that it passed, which hold the records that were decompressed,
    and one of these frames would refer to it: they would stay in memory until a collection of cyclic garbage.
    """

    place: tuple[int, int]
    partition: int
    outcome: Batch | ProduceResponsePartition | None


class _PartitionResponses:
    """The answer to one Produce request, sent when the last of its partitions has its own."""

    def __init__(self, request: ProduceRequest, version: int, respond: Respond) -> None:
        self._request = request
        self._version = version
        self._respond = respond
        self._missing = sum(len(topic.partition_data) for topic in request.topic_data)
        self._partitions: dict[tuple[int, int], ProduceResponsePartition] = {}
        self._endpoints: tuple[BrokerEndpoint, ...] = ()

    def give(
        self,
        place: tuple[int, int],
        answer: ProduceResponsePartition,
        endpoints: tuple[BrokerEndpoint, ...] = (),
    ) -> None:
        """Give the answer of one partition."""
        self._partitions[place] = answer
        self._endpoints = self._endpoints or endpoints
        self._missing -= 1
        self.respond_if_whole()

    def respond_if_whole(self) -> None:
        """Send the answer once nothing is missing; with acks=0 the client does not want to hear of it."""
        if self._missing:
            return
        if self._request.acks == 0:
            self._respond(None)
            return
        topics = tuple(
            ProduceResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    self._partitions[topic_at, partition_at] for partition_at in range(len(topic.partition_data))
                ),
            )
            for topic_at, topic in enumerate(self._request.topic_data)
        )
        self._respond(ProduceResponse(responses=topics, node_endpoints=self._endpoints))


def produce(context: Context, caller: Caller, request: ProduceRequest, version: int, respond: Respond) -> None:
    """Answer Produce: acknowledged when committed, whatever `acks` says."""
    responses = _PartitionResponses(request, version, respond)
    responses.respond_if_whole()
    context.admissions.admit(
        caller,
        lambda: _check(context, request, version),
        lambda checked: _begin(context, caller, request, version, responses, checked),
        is_quick=not context.is_leader or _is_quick(request),
    )


def _is_quick(request: ProduceRequest) -> bool:
    """Whether the batches can be checked on the loop: little is to be read, and nothing to be decompressed."""
    batches = [partition.records or b"" for topic in request.topic_data for partition in topic.partition_data]
    return sum(map(len, batches)) <= _QUICK_BYTES and not any(map(is_compressed, batches))


def _check(context: Context, request: ProduceRequest, version: int) -> list[_Checked]:
    """Return what there is to append; runs on any thread."""
    checked: list[_Checked] = []
    for topic_at, topic in enumerate(request.topic_data):
        for partition_at, partition in enumerate(topic.partition_data):
            outcome: Batch | ProduceResponsePartition | None
            try:
                outcome = _admit(context, request, topic, partition, version)
            except RequestError as error:
                outcome = _refusal(partition.index, error)
            checked.append(_Checked(place=(topic_at, partition_at), partition=partition.index, outcome=outcome))
    return checked


def _begin(
    context: Context,
    caller: Caller,
    request: ProduceRequest,
    version: int,
    responses: _PartitionResponses,
    checked: Sequence[_Checked],
) -> None:
    for one in checked:
        if isinstance(one.outcome, ProduceResponsePartition):
            responses.give(one.place, one.outcome)
            continue
        give = _giver(context, caller, responses, one.place, one.partition, version)
        if one.outcome is None:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            leader = LeaderAndEpoch(epoch=context.epoch, leader_id=context.serving_leader)
            give(AppendResponse(error=error, leader=leader))
        else:
            _append(context, request, one.outcome, give)


def _admit(
    context: Context,
    request: ProduceRequest,
    topic: ProduceRequestTopic,
    partition: ProduceRequestPartition,
    version: int,
) -> Batch | None:
    """Return the batch, if it may be appended; None if this node does not lead.

    Raises:
        RequestError: it may not, with Kafka's code.
    """
    by_id = version >= _FIRST_BY_TOPIC_ID
    is_ours = topic.topic_id == context.ours.topic_id if by_id else topic.name == context.ours.topic_name
    if not is_ours or partition.index != 0:
        code = ErrorCode.UNKNOWN_TOPIC_ID if by_id and not is_ours else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise RequestError(code, "another topic or partition than the one hosted here")
    if request.transactional_id is not None:
        raise RequestError(ErrorCode.INVALID_TXN_STATE, "there are no transactions yet")
    if not context.is_leader:
        # The batch is refused in any case. To validate it first would cost CPU that any client can demand.
        return None
    batch = read_produced_batch(
        partition.records or b"",
        max_batch_bytes=context.config.message_max_bytes,
        strict=context.config.records_strict,
    )
    _check_timestamp(
        batch.header,
        now_ms=context.scheduler.wall_clock_ms(),
        after_max_ms=context.config.message_timestamp_after_max_ms,
    )
    return batch


def _check_timestamp(header: BatchHeader, *, now_ms: int, after_max_ms: int) -> None:
    """Refuse records from the future: they would move log time ahead, and every writer would be forgotten.

    Raises:
        RequestError: in Kafka's words.

    Source: Kafka LogValidator.validateTimestamp.
    """
    latest_ms = now_ms + after_max_ms
    if header.max_timestamp_ms > latest_ms:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            f"Timestamp {header.max_timestamp_ms} of message with offset {header.last_offset} is out of range. The "
            f"timestamp should be within [0, {latest_ms}]. Check the client's clock, or raise "
            "log.message.timestamp.after.max.ms",
        )


def _refusal(index: int, error: RequestError) -> ProduceResponsePartition:
    return ProduceResponsePartition(index=index, error_code=error.code, base_offset=-1, error_message=str(error))


def _append(context: Context, request: ProduceRequest, batch: Batch, give: Callable[[AppendResponse], None]) -> None:
    def on_response(order: SendResponse) -> None:
        assert isinstance(order.response, AppendResponse), "the answer to an append"
        give(order.response)

    request_id = context.engine.expect_response(on_response)
    timeout_ms = max(request.timeout_ms, 0)
    context.engine.submit(AppendRequested(request_id=request_id, batch=batch, timeout_ms=timeout_ms))


def _giver(
    context: Context, caller: Caller, responses: _PartitionResponses, place: tuple[int, int], index: int, version: int
) -> Callable[[AppendResponse], None]:
    """Return a function that takes the core's answer and gives one partition its own."""
    speaks_of_leader = version >= _FIRST_WITH_LEADER

    def give(response: AppendResponse) -> None:
        is_lost = response.error == ErrorCode.NOT_LEADER_OR_FOLLOWER and speaks_of_leader
        leader = context.serving_leader
        answer = ProduceResponsePartition(
            index=index,
            error_code=response.error,
            base_offset=or_minus_one(response.base_offset),
            error_message=response.message,
            log_start_offset=context.engine.core.log.start_offset,
            current_leader=LeaderIdAndEpoch(leader_id=or_minus_one(leader), leader_epoch=response.leader.epoch)
            if is_lost
            else LeaderIdAndEpoch(),
        )
        endpoints = context.leader_endpoints(caller)[:1] if is_lost and leader is not None else ()
        responses.give(
            place,
            answer,
            tuple(
                BrokerEndpoint(node_id=leader or 0, host=endpoint.host, port=endpoint.port) for endpoint in endpoints
            ),
        )

    return give


def init_producer_id(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Answer InitProducerId, on every node: ids are drawn, not counted (CLIENT-7)."""
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    return InitProducerIdResponse(error_code=ErrorCode.NONE, producer_id=context.draw(_PRODUCER_IDS), producer_epoch=0)
