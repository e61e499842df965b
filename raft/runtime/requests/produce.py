"""Produce: appends of clients (rules CLIENT-6, CLIENT-8, TXN-5, TXN-6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from raft.codec import Message
from raft.core.effects import SendResponse
from raft.core.events import AppendRequested
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, RequestError, refusal
from raft.records.header_fields import is_compressed
from raft.records.produced import read_produced_batch
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.refusals import refused_in_each
from raft.types import Batch, BatchHeader, CleanupPolicy, LeaderAndEpoch
from raft.wire.mapping.partition import or_minus_one
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
_QUICK_BYTES = 256 << 10
"""Batches of up to this size are checked on the event loop, which takes a fraction of a millisecond."""


class _Checked(NamedTuple):
    """The result of the check for one partition.

    Fields:
        place: index of the topic in the request, and of the partition in the topic.
        partition: the number of the partition.
        outcome: the batch to append, or the response that refuses it, or None if this node is not leader. It is not the
            error: the traceback of an error refers to the decompressed records, and a cycle would keep them in memory
            until the collector of cyclic garbage runs.
    """

    place: tuple[int, int]
    partition: int
    outcome: Batch | ProduceResponsePartition | None


class _PartitionResponses:
    """The response to one Produce request; sent when the response of its last partition is added."""

    def __init__(self, request: Request[ProduceRequest]) -> None:
        self._request = request
        self._missing = sum(len(topic.partition_data) for topic in request.message.topic_data)
        self._partitions: dict[tuple[int, int], ProduceResponsePartition] = {}
        self._endpoints: tuple[BrokerEndpoint, ...] = ()

    def add(
        self,
        place: tuple[int, int],
        response: ProduceResponsePartition,
        endpoints: tuple[BrokerEndpoint, ...] = (),
    ) -> None:
        """Add the response of one partition."""
        self._partitions[place] = response
        self._endpoints = self._endpoints or endpoints
        self._missing -= 1
        self.respond_if_complete()

    def respond_if_complete(self) -> None:
        """Send the response if no partition is missing. With acks=0 the client expects none."""
        if self._missing:
            return
        message = self._request.message
        if message.acks == 0:
            self._request.respond(None)
            return
        topics = tuple(
            ProduceResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    self._partitions[topic_at, partition_at] for partition_at in range(len(topic.partition_data))
                ),
            )
            for topic_at, topic in enumerate(message.topic_data)
        )
        self._request.respond(ProduceResponse(responses=topics, node_endpoints=self._endpoints))


def produce(context: Context, request: Request[ProduceRequest]) -> None:
    """Handle Produce. An append is acknowledged when it is committed, with any value of `acks`."""
    message, version = request.message, request.version
    responses = _PartitionResponses(request)
    responses.respond_if_complete()
    drop = context.admissions.admit(
        request.caller,
        lambda: _check(context, message, version),
        lambda checked: _begin(context, request, responses, checked),
        failed=request.fail,
        charge=request.charge,
        is_quick=not context.is_leader or _is_quick(message),
    )
    request.when_gone(drop)


def refuse_produce(request: ProduceRequest, _version: int) -> Message | None:
    """Refuse Produce; with acks=0 the client expects no response."""
    return None if request.acks == 0 else refused_in_each(request, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _is_quick(request: ProduceRequest) -> bool:
    """Return whether the batches are checked on the event loop: they are small and not compressed."""
    batches = [partition.records or b"" for topic in request.topic_data for partition in topic.partition_data]
    return sum(map(len, batches)) <= _QUICK_BYTES and not any(map(is_compressed, batches))


def _check(context: Context, request: ProduceRequest, version: int) -> list[_Checked]:
    """Check the batches of all partitions. Runs on any thread."""
    checked: list[_Checked] = []
    for topic_at, topic in enumerate(request.topic_data):
        for partition_at, partition in enumerate(topic.partition_data):
            outcome: Batch | ProduceResponsePartition | None
            try:
                outcome = _validate(context, topic, partition, version)
            except RequestError as error:
                outcome = _refusal(partition.index, error)
            checked.append(_Checked(place=(topic_at, partition_at), partition=partition.index, outcome=outcome))
    return checked


def _begin(
    context: Context,
    request: Request[ProduceRequest],
    responses: _PartitionResponses,
    checked: Sequence[_Checked],
) -> None:
    for one in checked:
        if isinstance(one.outcome, ProduceResponsePartition):
            responses.add(one.place, one.outcome)
            continue
        on_response = _response_adder(context, request, responses, one.place, one.partition)
        if one.outcome is None:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            leader = LeaderAndEpoch(epoch=context.epoch, leader_id=context.serving_leader)
            on_response(AppendResponse(error=error, leader=leader))
        else:
            _append(context, request.message, one.outcome, on_response)


def _validate(
    context: Context,
    topic: ProduceRequestTopic,
    partition: ProduceRequestPartition,
    version: int,
) -> Batch | None:
    """Return the batch of one partition; None if this node is not leader.

    Raises:
        RequestError: the batch must not be appended; with the error code that Kafka sends.
    """
    by_id = version >= _FIRST_BY_TOPIC_ID
    is_ours = topic.topic_id == context.ours.topic_id if by_id else topic.name == context.ours.topic_name
    if not is_ours or partition.index != 0:
        code = ErrorCode.UNKNOWN_TOPIC_ID if by_id and not is_ours else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise refusal(code, "this node does not host that topic or partition")
    if not context.is_leader:
        # The batch is refused in any case, so validating it would only cost CPU.
        return None
    batch = read_produced_batch(
        partition.records or b"",
        max_batch_bytes=context.config.message_max_bytes,
        strict=context.config.records_strict,
        needs_keys=context.config.cleanup_policy is CleanupPolicy.COMPACT,
    )
    _check_timestamp(
        batch.header,
        now_ms=context.scheduler.wall_clock_ms(),
        after_max_ms=context.config.message_timestamp_after_max_ms,
    )
    return batch


def _check_timestamp(header: BatchHeader, *, now_ms: int, after_max_ms: int) -> None:
    """Refuse records with a timestamp in the future: they would advance log time, and all writers would expire.

    Raises:
        RequestError: the largest timestamp is too late; with the message that Kafka sends.

    Source: Kafka LogValidator.validateTimestamp.
    """
    latest_ms = now_ms + after_max_ms
    if header.max_timestamp_ms > latest_ms:
        raise refusal(
            ErrorCode.INVALID_TIMESTAMP,
            f"Timestamp {header.max_timestamp_ms} of message with offset {header.last_offset} is out of range. The "
            f"timestamp should be within [0, {latest_ms}]. Check the client's clock, or raise "
            "log.message.timestamp.after.max.ms",
        )


def _refusal(index: int, error: RequestError) -> ProduceResponsePartition:
    return ProduceResponsePartition(index=index, error_code=error.code, base_offset=-1, error_message=str(error))


def _append(
    context: Context, request: ProduceRequest, batch: Batch, on_response: Callable[[AppendResponse], None]
) -> None:
    def on_core_response(effect: SendResponse) -> None:
        assert isinstance(effect.response, AppendResponse), "the response to an append"
        on_response(effect.response)

    request_id = context.engine.expect_response(on_core_response)
    timeout_ms = max(request.timeout_ms, 0)
    context.engine.submit(
        AppendRequested(
            request_id=request_id,
            batch=batch,
            timeout_ms=timeout_ms,
            transactional_id=request.transactional_id,
        )
    )


def _response_adder(
    context: Context,
    request: Request[ProduceRequest],
    responses: _PartitionResponses,
    place: tuple[int, int],
    index: int,
) -> Callable[[AppendResponse], None]:
    """Return a function that takes the core's response and adds that of the partition."""
    caller, has_leader = request.caller, request.version >= _FIRST_WITH_LEADER

    def add(response: AppendResponse) -> None:
        is_lost = response.error == ErrorCode.NOT_LEADER_OR_FOLLOWER and has_leader
        leader = context.serving_leader
        partition_response = ProduceResponsePartition(
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
        responses.add(
            place,
            partition_response,
            tuple(
                BrokerEndpoint(node_id=leader or 0, host=endpoint.host, port=endpoint.port) for endpoint in endpoints
            ),
        )

    return add
