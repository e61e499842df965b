"""ListOffsets and OffsetForLeaderEpoch: offsets of the committed log by position, time and epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.events import ReadIndexRequested
from raft.core.messages import ReadIndexResponse
from raft.errors import CorruptBatchError, ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.batch_plan import plan_batch
from raft.runtime.requests.context import Context
from raft.runtime.requests.fetch import LONGEST_WAIT_MS
from raft.runtime.requests.refusals import refused_in_each
from raft.storage.log import Log
from raft.storage.timestamps import TimestampOffset
from raft.types import Epoch, Offset
from raft.wire.mapping.fetches import READ_COMMITTED
from raft.wire.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsRequestPartition,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from raft.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochRequestPartition,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderEpochResponsePartition,
    OffsetForLeaderEpochResponseTopic,
)

_LARGEST_TIMESTAMP = -3
_EARLIEST_LOCAL = -4
_LATEST_TIERED = -5
_FIRST_WITH_EPOCH = 4
_FIRST_WITH_OFFSET_NOT_AVAILABLE = 5
_UNKNOWN = -1


def list_offsets(context: Context, request: Request[ListOffsetsRequest]) -> None:
    """Handle ListOffsets on the leader. Offsets that the core knows are read now; times are searched on the disk.

    A linearizable request waits until a majority has confirmed this leader (READ-1).
    """
    message = request.message
    if not message.is_linearizable or not context.is_leader:
        _list_offsets(context, request)
        return

    def on_response(effect: SendResponse) -> None:
        response = effect.response
        assert isinstance(response, ReadIndexResponse), "the response to a linearizable read"
        if response.error == ErrorCode.NONE:
            _list_offsets(context, request)
        else:
            request.respond(refused_in_each(message, ErrorCode(response.error)))

    request_id = context.engine.expect_response(on_response)
    request.when_gone(lambda: context.engine.abandon(request_id))
    timeout_ms = min(message.timeout_ms, LONGEST_WAIT_MS) if message.timeout_ms > 0 else LONGEST_WAIT_MS
    context.engine.submit(ReadIndexRequested(request_id=request_id, timeout_ms=timeout_ms))


def _list_offsets(context: Context, request: Request[ListOffsetsRequest]) -> None:
    message = request.message
    count_of = Counter(
        (topic.name, partition.partition_index) for topic in message.topics for partition in topic.partitions
    )
    topics = [
        (
            topic.name,
            [
                _offset_finder(
                    context,
                    topic.name,
                    partition,
                    request.version,
                    read_committed=message.isolation_level == READ_COMMITTED,
                    is_repeated=count_of[topic.name, partition.partition_index] > 1,
                )
                for partition in topic.partitions
            ],
        )
        for topic in message.topics
    ]

    def find(log: Log) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=tuple(
                ListOffsetsResponseTopic(name=name, partitions=tuple(find_offset(log) for find_offset in finders))
                for name, finders in topics
            )
        )

    def on_found(found: ListOffsetsResponse | CorruptBatchError) -> None:
        if isinstance(found, CorruptBatchError):
            request.respond(refused_in_each(message, ErrorCode.STORAGE_ERROR))
        else:
            request.respond(found)

    context.disk.search(find, on_found)


_Finder = Callable[[Log], ListOffsetsResponsePartition]


def _offset_finder(
    context: Context,
    topic: str,
    requested: ListOffsetsRequestPartition,
    version: int,
    *,
    read_committed: bool,
    is_repeated: bool,
) -> _Finder:
    """Return the function that finds the response for one partition. It runs as a job of the disk."""

    def known(*, error: int = ErrorCode.NONE, offset: int = _UNKNOWN, epoch: int = _UNKNOWN) -> _Finder:
        response = ListOffsetsResponsePartition(
            partition_index=requested.partition_index,
            error_code=error,
            offset=offset,
            leader_epoch=epoch if version >= _FIRST_WITH_EPOCH else _UNKNOWN,
        )
        return lambda _log: response

    # Kafka sends the same error. Each search occupies the disk thread, and a request could repeat one many times.
    error = ErrorCode.INVALID_REQUEST if is_repeated else _offset_error(context, topic, requested)
    if error != ErrorCode.NONE:
        return known(error=error)
    view = context.engine.core.log
    if requested.timestamp in (EARLIEST_TIMESTAMP, _EARLIEST_LOCAL):
        # As in a compacted topic of Kafka's, it does not move when the first records are compacted away: Spark's source
        # for Kafka reports lost data when it does.
        return known(offset=view.readable_from, epoch=view.epoch_at(Offset(view.readable_from + 1)))
    end_offset = context.engine.core.last_stable_offset if read_committed else context.high_watermark
    if end_offset is None:
        # A lower offset than that of the leader before would move "latest" backwards (CLIENT-4).
        knows_code = version >= _FIRST_WITH_OFFSET_NOT_AVAILABLE
        return known(error=ErrorCode.OFFSET_NOT_AVAILABLE if knows_code else ErrorCode.LEADER_NOT_AVAILABLE)
    if requested.timestamp == LATEST_TIMESTAMP:
        return known(offset=end_offset, epoch=context.epoch)
    if requested.timestamp == _LATEST_TIERED:
        return known()
    if requested.timestamp == _LARGEST_TIMESTAMP:
        return lambda log: _found(requested, version, log.find_largest_timestamp(end_offset))
    return lambda log: _found(requested, version, log.find_offset_by_timestamp(requested.timestamp, end_offset))


def _found(
    requested: ListOffsetsRequestPartition, version: int, record: TimestampOffset | None
) -> ListOffsetsResponsePartition:
    if record is None:
        return ListOffsetsResponsePartition(partition_index=requested.partition_index, error_code=ErrorCode.NONE)
    return ListOffsetsResponsePartition(
        partition_index=requested.partition_index,
        error_code=ErrorCode.NONE,
        timestamp=record.timestamp_ms,
        offset=record.offset,
        leader_epoch=record.epoch if version >= _FIRST_WITH_EPOCH else _UNKNOWN,
    )


def _offset_error(context: Context, topic: str, requested: ListOffsetsRequestPartition) -> ErrorCode:
    if not context.is_ours_by_name(topic, requested.partition_index):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = context.leader_only_error(requested.current_leader_epoch)
    if error == ErrorCode.NONE and requested.timestamp < _LATEST_TIERED:
        return ErrorCode.INVALID_REQUEST
    return error


def offset_for_leader_epoch(context: Context, request: Request[OffsetForLeaderEpochRequest]) -> None:
    """Handle OffsetForLeaderEpoch from the epoch cache, with the high watermark as upper bound.

    A batch is planned (CLIENT-15) as a job of the disk, and only for a request with one partition: our clients send no
    other, and a request could name many.
    """
    topics = request.message.topics
    response = OffsetForLeaderEpochResponse(
        topics=tuple(
            OffsetForLeaderEpochResponseTopic(
                topic=topic.topic,
                partitions=tuple(_epoch_end(context, topic.topic, partition) for partition in topic.partitions),
            )
            for topic in topics
        )
    )
    partitions = [partition for topic in topics for partition in topic.partitions]
    last_stable_offset = context.engine.core.last_stable_offset
    if len(partitions) != 1 or partitions[0].batch_plan_request.start_offset < 0 or last_stable_offset is None:
        request.respond(response)
        return
    (topic,) = (topic for topic in response.topics if topic.partitions)
    (partition,) = topic.partitions
    if partition.error_code != ErrorCode.NONE:
        request.respond(response)
        return

    def find(log: Log) -> Generator[None, None, OffsetForLeaderEpochResponse]:
        plan = yield from plan_batch(log, partitions[0].batch_plan_request, last_stable_offset)
        planned = replace(topic, partitions=(replace(partition, batch_plan=plan),))
        return replace(response, topics=(planned,))

    def on_found(found: OffsetForLeaderEpochResponse | CorruptBatchError) -> None:
        if isinstance(found, CorruptBatchError):
            damaged = replace(partition, error_code=ErrorCode.STORAGE_ERROR)
            found = replace(response, topics=(replace(topic, partitions=(damaged,)),))
        request.respond(found)

    context.disk.search_in_pieces(find, on_found)


def _epoch_end(
    context: Context, topic: str, requested: OffsetForLeaderEpochRequestPartition
) -> OffsetForLeaderEpochResponsePartition:
    error = (
        context.leader_only_error(requested.current_leader_epoch)
        if context.is_ours_by_name(topic, requested.partition)
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    high_watermark = context.high_watermark
    if error == ErrorCode.NONE and high_watermark is None:
        error = ErrorCode.OFFSET_NOT_AVAILABLE
    log = context.engine.core.log
    # An epoch above the last one of this log has no end offset. Kafka sends the same response.
    if error != ErrorCode.NONE or high_watermark is None or not 0 <= requested.leader_epoch <= log.last_epoch:
        return OffsetForLeaderEpochResponsePartition(error_code=error, partition=requested.partition)
    end = log.end_of_epoch(Epoch(requested.leader_epoch))
    return OffsetForLeaderEpochResponsePartition(
        error_code=ErrorCode.NONE,
        partition=requested.partition,
        leader_epoch=end.epoch,
        end_offset=min(end.offset, high_watermark),
    )
