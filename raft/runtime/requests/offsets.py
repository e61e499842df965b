"""ListOffsets and OffsetForLeaderEpoch: where the committed log begins and ends, in offsets, times and epochs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from raft.errors import ErrorCode
from raft.runtime.requests.batch_plan import plan_batch
from raft.runtime.requests.context import Context
from raft.runtime.respond import Respond
from raft.storage.log import Log
from raft.storage.timestamps import TimestampOffset
from raft.types import Epoch, Offset
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


def list_offsets(context: Context, request: ListOffsetsRequest, version: int, respond: Respond) -> None:
    """Answer ListOffsets, of the leader only. What the core knows is taken now; the log is searched on its thread."""
    asked = Counter(
        (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    )
    topics = [
        (
            topic.name,
            [
                _offset_finder(
                    context,
                    topic.name,
                    partition,
                    version,
                    is_repeated=asked[topic.name, partition.partition_index] > 1,
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]

    def find(log: Log) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=tuple(
                ListOffsetsResponseTopic(name=name, partitions=tuple(find_offset(log) for find_offset in finders))
                for name, finders in topics
            )
        )

    context.disk.search(find, respond)


_Finder = Callable[[Log], ListOffsetsResponsePartition]


def _offset_finder(
    context: Context, topic: str, asked: ListOffsetsRequestPartition, version: int, *, is_repeated: bool
) -> _Finder:
    """What gives the answer for one partition, on the log's thread."""

    def answer(*, error: int = ErrorCode.NONE, offset: int = _UNKNOWN, epoch: int = _UNKNOWN) -> _Finder:
        found = ListOffsetsResponsePartition(
            partition_index=asked.partition_index,
            error_code=error,
            offset=offset,
            leader_epoch=epoch if version >= _FIRST_WITH_EPOCH else _UNKNOWN,
        )
        return lambda _log: found

    # As Kafka answers what is repeated. Each search keeps the thread of the log busy, and a request has room for many.
    error = ErrorCode.INVALID_REQUEST if is_repeated else _offset_error(context, topic, asked)
    if error != ErrorCode.NONE:
        return answer(error=error)
    view = context.engine.core.log
    if asked.timestamp in (EARLIEST_TIMESTAMP, _EARLIEST_LOCAL):
        return answer(offset=view.start_offset, epoch=view.epoch_at(Offset(view.start_offset + 1)))
    high_watermark = context.high_watermark
    if high_watermark is None:
        # A new leader that answered with less than its predecessor would send "latest" backwards (CLIENT-4).
        knows_code = version >= _FIRST_WITH_OFFSET_NOT_AVAILABLE
        return answer(error=ErrorCode.OFFSET_NOT_AVAILABLE if knows_code else ErrorCode.LEADER_NOT_AVAILABLE)
    if asked.timestamp == LATEST_TIMESTAMP:
        return answer(offset=high_watermark, epoch=context.epoch)
    if asked.timestamp == _LATEST_TIERED:
        return answer()
    if asked.timestamp == _LARGEST_TIMESTAMP:
        return lambda log: _found(asked, version, log.find_largest_timestamp(high_watermark))
    return lambda log: _found(asked, version, log.find_offset_by_timestamp(asked.timestamp, high_watermark))


def _found(
    asked: ListOffsetsRequestPartition, version: int, record: TimestampOffset | None
) -> ListOffsetsResponsePartition:
    if record is None:
        return ListOffsetsResponsePartition(partition_index=asked.partition_index, error_code=ErrorCode.NONE)
    return ListOffsetsResponsePartition(
        partition_index=asked.partition_index,
        error_code=ErrorCode.NONE,
        timestamp=record.timestamp_ms,
        offset=record.offset,
        leader_epoch=record.epoch if version >= _FIRST_WITH_EPOCH else _UNKNOWN,
    )


def _offset_error(context: Context, topic: str, asked: ListOffsetsRequestPartition) -> ErrorCode:
    if not context.is_ours_by_name(topic, asked.partition_index):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = context.leader_only_error(asked.current_leader_epoch)
    if error == ErrorCode.NONE and asked.timestamp < _LATEST_TIERED:
        return ErrorCode.INVALID_REQUEST
    return error


def offset_for_leader_epoch(context: Context, request: OffsetForLeaderEpochRequest, respond: Respond) -> None:
    """Answer OffsetForLeaderEpoch from the epoch cache, cut at the high watermark.

    A plan (CLIENT-15) is made by the thread of the log, and only for a request about one partition: that is what our
    clients ask, and a request has room for many.
    """
    answer = OffsetForLeaderEpochResponse(
        topics=tuple(
            OffsetForLeaderEpochResponseTopic(
                topic=topic.topic,
                partitions=tuple(_epoch_end(context, topic.topic, partition) for partition in topic.partitions),
            )
            for topic in request.topics
        )
    )
    asked = [partition for topic in request.topics for partition in topic.partitions]
    high_watermark = context.high_watermark
    if len(asked) != 1 or asked[0].batch_plan_request.start_offset < 0 or high_watermark is None:
        respond(answer)
        return
    (topic,) = (topic for topic in answer.topics if topic.partitions)
    (partition,) = topic.partitions
    if partition.error_code != ErrorCode.NONE:
        respond(answer)
        return

    def find(log: Log) -> OffsetForLeaderEpochResponse:
        plan = plan_batch(log, asked[0].batch_plan_request, high_watermark)
        planned = replace(topic, partitions=(replace(partition, batch_plan=plan),))
        return replace(answer, topics=(planned,))

    context.disk.search(find, respond)


def _epoch_end(
    context: Context, topic: str, asked: OffsetForLeaderEpochRequestPartition
) -> OffsetForLeaderEpochResponsePartition:
    error = (
        context.leader_only_error(asked.current_leader_epoch)
        if context.is_ours_by_name(topic, asked.partition)
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    high_watermark = context.high_watermark
    if error == ErrorCode.NONE and high_watermark is None:
        error = ErrorCode.OFFSET_NOT_AVAILABLE
    log = context.engine.core.log
    # An epoch that this log has not seen yet ends nowhere, as Kafka answers too.
    if error != ErrorCode.NONE or high_watermark is None or not 0 <= asked.leader_epoch <= log.last_epoch:
        return OffsetForLeaderEpochResponsePartition(error_code=error, partition=asked.partition)
    end = log.end_of_epoch(Epoch(asked.leader_epoch))
    return OffsetForLeaderEpochResponsePartition(
        error_code=ErrorCode.NONE,
        partition=asked.partition,
        leader_epoch=end.epoch,
        end_offset=min(end.offset, high_watermark),
    )
