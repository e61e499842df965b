"""The calls of a client, as operations of its session: append, fetch, find offsets, describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from raft.client import controllers
from raft.client.discovery import API_VERSIONS_REQUEST, Dialect, Leader
from raft.client.results import (
    Appended,
    BatchPlan,
    Fetched,
    FoundOffset,
    LogPlace,
    QuorumDescription,
    ReplicaDescription,
)
from raft.client.session import Deadline, Judged, Session
from raft.client.steps import Operation
from raft.errors import ConfigError, DecodeError, ErrorCode, OffsetOutOfRangeError
from raft.types import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch
from raft.wire.features import FEATURE_NAME, KEYED_WRITES_LEVEL
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages import fetch, produce
from raft.wire.messages import list_offsets as offsets
from raft.wire.messages import offset_for_leader_epoch as epochs
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

Part = TypeVar("Part")


def append(session: Session, deadline: Deadline, batch: bytes) -> Operation[Appended]:
    """Append one batch, which carries its writer's key, and wait until it is committed.

    After a lost answer the same bytes are sent again: the leader knows the key.

    Raises:
        RequestError: the leader refuses it for good.
        QuorumUnavailableError: no answer in time; whether it was appended is unknown.
        ConfigError: it is another cluster, another topic, or a cluster of Apache Kafka.
    """
    timeout_ms = session.settings.request_timeout_ms
    yield from _require_our_nodes(session, deadline)

    def make(leader: Leader) -> produce.ProduceRequest:
        return produce.ProduceRequest(
            acks=-1,
            timeout_ms=timeout_ms,
            topic_data=(
                produce.ProduceRequestTopic(
                    name=leader.topic.name,
                    topic_id=leader.topic.topic_id,
                    partition_data=(produce.ProduceRequestPartition(index=0, records=batch),),
                ),
            ),
        )

    def judge(answer: produce.ProduceResponse) -> Judged:
        partition = _produced(answer)
        # The last one of this writer is a newer write: to the caller this one is done.
        is_superseded = partition.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        return Judged(error=ErrorCode.NONE if is_superseded else partition.error_code, message=partition.error_message)

    answer = yield from session.ask_leader(make, judge, deadline)
    partition = _produced(answer)
    return Appended(
        base_offset=Offset(partition.base_offset),
        is_superseded=partition.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    )


def _require_our_nodes(session: Session, deadline: Deadline) -> Operation[None]:
    if (yield from session.find_dialect(deadline)) is not Dialect.OURS:
        raise ConfigError(
            f"cluster {session.cluster_id} is one of Apache Kafka: its metadata can be read here, but only its own "
            "controllers write it"
        )


def _produced(answer: produce.ProduceResponse) -> produce.ProduceResponsePartition:
    return _sole([partition for topic in answer.responses for partition in topic.partition_responses])


def new_producer_id(session: Session, deadline: Deadline) -> Operation[int]:
    """Get an id for idempotent appends; its first batch has epoch 0 and sequence 0."""
    yield from _require_our_nodes(session, deadline)

    def make(_leader: Leader) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def judge(answer: InitProducerIdResponse) -> Judged:
        return Judged(error=answer.error_code)

    answer = yield from session.ask_leader(make, judge, deadline)
    return answer.producer_id


def supports_keyed_writes(session: Session, deadline: Deadline) -> Operation[bool]:
    """Whether the leader is one of our nodes, which judge the keys of keyed writes."""
    if (yield from session.find_dialect(deadline)) is not Dialect.OURS:
        return False

    def make(_leader: Leader) -> ApiVersionsRequest:
        return API_VERSIONS_REQUEST

    def judge(answer: ApiVersionsResponse) -> Judged:
        return Judged(error=answer.error_code)

    answer = yield from session.ask_leader(make, judge, deadline)
    return any(
        feature.name == FEATURE_NAME and feature.max_version >= KEYED_WRITES_LEVEL
        for feature in answer.supported_features
    )


def fetch_committed(
    session: Session, deadline: Deadline, start_offset: Offset, *, max_bytes: int, max_wait_ms: int
) -> Operation[Fetched]:
    """Fetch committed batches from the one that holds `start_offset` on; wait up to `max_wait_ms` for the first.

    Raises:
        OffsetOutOfRangeError: the offset is before the log's start, or past its end.
        QuorumUnavailableError: no answer in time.
        ConfigError: it is another cluster, or another topic.
    """
    # A node that holds the request for as long as the whole call may take would leave no time for its answer.
    max_wait_ms = min(max_wait_ms, deadline.timeout_ms // 2)
    if (yield from session.find_dialect(deadline)) is Dialect.KAFKAS:
        return (
            yield from controllers.fetch_committed(
                session, deadline, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms
            )
        )

    def make(leader: Leader) -> fetch.FetchRequest:
        partition = fetch.FetchRequestPartition(
            partition=0,
            current_leader_epoch=session.epoch,
            fetch_offset=start_offset,
            partition_max_bytes=max_bytes,
        )
        topic = fetch.FetchRequestTopic(
            topic=leader.topic.name, topic_id=leader.topic.topic_id, partitions=(partition,)
        )
        return fetch.FetchRequest(
            max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=max_bytes, isolation_level=1, topics=(topic,)
        )

    def judge(answer: fetch.FetchResponse) -> Judged:
        if answer.error_code:
            return Judged(error=answer.error_code)
        partition = _fetched(answer)
        epoch = partition.current_leader.leader_epoch
        if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetOutOfRangeError(
                f"offset {start_offset} is out of range: the log holds {max(partition.log_start_offset, 0)} to "
                f"{max(partition.high_watermark, 0)}",
                log_start_offset=Offset(max(partition.log_start_offset, 0)),
                high_watermark=_offset(partition.high_watermark),
            )
        return Judged(error=partition.error_code, epoch=Epoch(epoch) if epoch >= 0 else None)

    answer = yield from session.ask_leader(make, judge, deadline, may_wait_ms=max_wait_ms)
    partition = _fetched(answer)
    return Fetched(
        records=partition.records or b"",
        high_watermark=_offset(partition.high_watermark),
        log_start_offset=Offset(max(partition.log_start_offset, 0)),
    )


def _fetched(answer: fetch.FetchResponse) -> fetch.FetchResponsePartition:
    return _sole([partition for topic in answer.responses for partition in topic.partitions])


def find_offset(session: Session, deadline: Deadline, timestamp: int) -> Operation[FoundOffset | None]:
    """Find the offset of a time in ms, or of `EARLIEST_TIMESTAMP` or `LATEST_TIMESTAMP`, from the leader.

    Returns:
        None when no committed record is as young as that.
    """
    if (yield from session.find_dialect(deadline)) is Dialect.KAFKAS:
        return (yield from controllers.find_offset(session, deadline, timestamp))

    def make(leader: Leader) -> offsets.ListOffsetsRequest:
        partition = offsets.ListOffsetsRequestPartition(
            partition_index=0, current_leader_epoch=session.epoch, timestamp=timestamp
        )
        topic = offsets.ListOffsetsRequestTopic(name=leader.topic.name, partitions=(partition,))
        return offsets.ListOffsetsRequest(replica_id=-1, isolation_level=1, topics=(topic,))

    def judge(answer: offsets.ListOffsetsResponse) -> Judged:
        partition = _listed(answer)
        # Only the end of the log is told in the leader's own epoch; other offsets in that of their record.
        speaks_for_leader = timestamp == offsets.LATEST_TIMESTAMP and partition.leader_epoch >= 0
        return Judged(error=partition.error_code, epoch=Epoch(partition.leader_epoch) if speaks_for_leader else None)

    answer = yield from session.ask_leader(make, judge, deadline)
    partition = _listed(answer)
    if partition.offset < 0:
        return None
    epoch = Epoch(partition.leader_epoch) if partition.leader_epoch >= 0 else None
    return FoundOffset(offset=Offset(partition.offset), epoch=epoch)


def _listed(answer: offsets.ListOffsetsResponse) -> offsets.ListOffsetsResponsePartition:
    return _sole([partition for topic in answer.topics for partition in topic.partitions])


def end_of_epoch(session: Session, deadline: Deadline, epoch: Epoch) -> Operation[OffsetAndEpoch | None]:
    """Find the largest epoch up to `epoch` and where its committed part ends; None for an epoch not begun yet.

    A cluster of Apache Kafka's may answer with a later epoch, see `raft.client.controllers.end_of_epoch`.
    """
    if (yield from session.find_dialect(deadline)) is Dialect.KAFKAS:
        return (yield from controllers.end_of_epoch(session, deadline, epoch))
    return _epoch_end((yield from _ask_for_epoch(session, deadline, epoch)))


def plan_batch(
    session: Session,
    deadline: Deadline,
    *,
    start_offset: Offset,
    epoch: Epoch,
    max_records: int | None = None,
    end_offset: Offset | None = None,
) -> Operation[BatchPlan]:
    """Plan the next batch of a stream: of a leader of this project's, with one request (CLIENT-15).

    Another one is asked for the bounds of its log and the end of the epoch with three, and gives no places.

    Args:
        session: asks.
        deadline: when to give up.
        start_offset: where the batch is to start.
        epoch: of the record before that, as far as it is known: the leader says where it ends.
        max_records: most data records of the batch; None for any number.
        end_offset: latest end; None for the end of what is committed.

    Raises:
        QuorumUnavailableError: no answer in time.
        ConfigError: it is another cluster, or another topic.
    """
    if (yield from session.find_dialect(deadline)) is Dialect.OURS:
        wanted = epochs.BatchPlanRequest(
            start_offset=start_offset,
            max_records=-1 if max_records is None else max_records,
            end_offset=-1 if end_offset is None else end_offset,
        )
        answer = yield from _ask_for_epoch(session, deadline, epoch, wanted)
        plan = answer.batch_plan
        if plan.high_watermark >= 0:
            return BatchPlan(
                log_start_offset=Offset(plan.log_start_offset),
                high_watermark=Offset(plan.high_watermark),
                epoch_end=_epoch_end(answer),
                start=_place(plan.start),
                end=_place(plan.end),
            )
    latest = yield from find_offset(session, deadline, offsets.LATEST_TIMESTAMP)
    earliest = yield from find_offset(session, deadline, offsets.EARLIEST_TIMESTAMP)
    if latest is None or earliest is None:
        raise DecodeError("ListOffsets names no offset for the start or the end of the log")
    return BatchPlan(
        log_start_offset=earliest.offset,
        high_watermark=latest.offset,
        epoch_end=(yield from end_of_epoch(session, deadline, epoch)),
    )


def _ask_for_epoch(
    session: Session,
    deadline: Deadline,
    epoch: Epoch,
    plan: epochs.BatchPlanRequest = epochs.BatchPlanRequest(),  # noqa: B008 - frozen
) -> Operation[epochs.OffsetForLeaderEpochResponsePartition]:
    def make(leader: Leader) -> epochs.OffsetForLeaderEpochRequest:
        partition = epochs.OffsetForLeaderEpochRequestPartition(
            partition=0, current_leader_epoch=session.epoch, leader_epoch=epoch, batch_plan_request=plan
        )
        topic = epochs.OffsetForLeaderEpochRequestTopic(topic=leader.topic.name, partitions=(partition,))
        return epochs.OffsetForLeaderEpochRequest(replica_id=-1, topics=(topic,))

    def judge(answer: epochs.OffsetForLeaderEpochResponse) -> Judged:
        return Judged(error=_epoch_answer(answer).error_code)

    return _epoch_answer((yield from session.ask_leader(make, judge, deadline)))


def _epoch_answer(answer: epochs.OffsetForLeaderEpochResponse) -> epochs.OffsetForLeaderEpochResponsePartition:
    return _sole([partition for topic in answer.topics for partition in topic.partitions])


def _epoch_end(answer: epochs.OffsetForLeaderEpochResponsePartition) -> OffsetAndEpoch | None:
    if answer.end_offset < 0:
        return None
    return OffsetAndEpoch(epoch=Epoch(answer.leader_epoch), offset=Offset(answer.end_offset))


def _place(place: epochs.LogPlace) -> LogPlace | None:
    if place.offset < 0:
        return None
    return LogPlace(
        offset=Offset(place.offset),
        epoch=Epoch(max(place.epoch, 0)),
        checksum=place.checksum if place.checksum >= 0 else None,
    )


def describe_quorum(session: Session, deadline: Deadline) -> Operation[QuorumDescription]:
    """Describe the quorum as its leader sees it (DESCRIBE-3)."""

    def make(leader: Leader) -> quorum.DescribeQuorumRequest:
        partition = quorum.DescribeQuorumRequestPartition(partition_index=0)
        topic = quorum.DescribeQuorumRequestTopic(topic_name=leader.topic.name, partitions=(partition,))
        return quorum.DescribeQuorumRequest(topics=(topic,))

    def judge(answer: quorum.DescribeQuorumResponse) -> Judged:
        if answer.error_code:
            return Judged(error=answer.error_code, message=answer.error_message)
        partition = _described(answer)
        return Judged(error=partition.error_code, epoch=Epoch(max(partition.leader_epoch, 0)))

    answer = yield from session.ask_leader(make, judge, deadline)
    partition = _described(answer)
    return QuorumDescription(
        cluster_id=session.cluster_id or "",
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        high_watermark=_offset(partition.high_watermark),
        voters=tuple(_replica(state) for state in partition.current_voters),
        observers=tuple(_replica(state) for state in partition.observers),
        endpoints={
            NodeId(node.node_id): tuple(
                Endpoint(listener.host, listener.port, listener.name) for listener in node.listeners
            )
            for node in answer.nodes
        },
    )


def _described(answer: quorum.DescribeQuorumResponse) -> quorum.DescribeQuorumResponsePartition:
    return _sole([partition for topic in answer.topics for partition in topic.partitions])


def _replica(state: quorum.ReplicaState) -> ReplicaDescription:
    return ReplicaDescription(
        node_id=NodeId(state.replica_id),
        directory_id=state.replica_directory_id,
        log_end_offset=_offset(state.log_end_offset),
        last_fetch_ms=state.last_fetch_timestamp if state.last_fetch_timestamp >= 0 else None,
        last_caught_up_ms=state.last_caught_up_timestamp if state.last_caught_up_timestamp >= 0 else None,
    )


def _offset(number: int) -> Offset | None:
    return Offset(number) if number >= 0 else None


def _sole(partitions: Sequence[Part]) -> Part:
    if len(partitions) != 1:
        raise DecodeError(f"an answer about {len(partitions)} partitions, where one was asked for")
    return partitions[0]
