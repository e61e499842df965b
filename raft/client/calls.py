"""The calls of a client, as operations of its session: append, fetch, find offsets.

What a call does, its arguments and errors are documented at the method of `Client`. The arguments `session` and
`deadline` come from the driver (`raft.client.driver.Driver.call`).
"""

from __future__ import annotations

from functools import partial

from raft.client import controllers
from raft.client.discovery import API_VERSIONS_REQUEST, LeaderNode, Software
from raft.client.reader_requests import ask_leader_or_others, ask_readers
from raft.client.results import (
    AbortedTransaction,
    Appended,
    BatchPlan,
    Fetched,
    FoundOffset,
    LogPosition,
)
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Operation
from raft.errors import ConfigError, DamagedRecordsError, DecodeError, ErrorCode, OffsetOutOfRangeError
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.wire.features import FEATURE_NAME
from raft.wire.mapping.partition import epoch_or_none, offset_or_none, sole, sole_partition
from raft.wire.messages import fetch, produce
from raft.wire.messages import list_offsets as offsets
from raft.wire.messages import offset_for_leader_epoch as epochs
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.transactions import EndTxnRequest, EndTxnResponse
from raft.writers import WriteId

_WAIT_FOR_READER_MS = 100
"""How long a node that does not lead may wait for records before another one is asked."""


def append(
    session: Session, deadline: Deadline, batch: bytes, *, transactional_id: str | None = None
) -> Operation[Appended]:
    """Append one batch: `Client.append`."""
    timeout_ms = session.settings.request_timeout_ms
    _require_our_nodes((yield from session.find_software(deadline)), session)

    def request_to(leader: LeaderNode) -> produce.ProduceRequest:
        return produce.ProduceRequest(
            transactional_id=transactional_id,
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

    def status_of(response: produce.ProduceResponse) -> ResponseStatus:
        partition = _produced(response)
        # The last write of this writer is a newer one, so this one was written before.
        is_superseded = partition.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        error = ErrorCode.NONE if is_superseded else partition.error_code
        return ResponseStatus(error=error, message=partition.error_message)

    partition = _produced((yield from session.ask_leader(request_to, status_of, deadline)))
    return Appended(
        base_offset=Offset(partition.base_offset),
        is_superseded=partition.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    )


def _require_our_nodes(software: Software, session: Session) -> None:
    if software is not Software.KRAFT_SPARK:
        raise ConfigError(
            f"cluster {session.cluster_id} is an Apache Kafka cluster: its metadata can be read, but only its own "
            "controllers write it"
        )


def _produced(response: produce.ProduceResponse) -> produce.ProduceResponsePartition:
    return sole([partition for topic in response.responses for partition in topic.partition_responses])


def new_producer_id(session: Session, deadline: Deadline) -> Operation[int]:
    """Get a producer id: `Client.new_producer_id`."""
    _require_our_nodes((yield from session.find_software(deadline)), session)

    def request_to(_leader: LeaderNode) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def status_of(response: InitProducerIdResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code)

    response = yield from session.ask_leader(request_to, status_of, deadline)
    return response.producer_id


def abort_write(session: Session, deadline: Deadline, write: WriteId) -> Operation[None]:
    """Abort a multipart write: `Client.abort_write`."""
    _require_our_nodes((yield from session.find_software(deadline)), session)

    def request_to(_leader: LeaderNode) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=write.transactional_id,
            producer_id=write.producer_id,
            producer_epoch=0,
            committed=False,
        )

    def status_of(response: EndTxnResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code)

    yield from session.ask_leader(request_to, status_of, deadline)


def feature_level(session: Session, deadline: Deadline) -> Operation[int]:
    """Return the level of this project's feature: `Client.feature_level`."""
    if (yield from session.find_software(deadline)) is not Software.KRAFT_SPARK:
        return 0

    def request_to(_leader: LeaderNode) -> ApiVersionsRequest:
        return API_VERSIONS_REQUEST

    def status_of(response: ApiVersionsResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code)

    response = yield from session.ask_leader(request_to, status_of, deadline)
    levels = [feature.max_version for feature in response.supported_features if feature.name == FEATURE_NAME]
    return max(levels, default=0)


def fetch_committed(
    session: Session, deadline: Deadline, start_offset: Offset, *, max_bytes: int, max_wait_ms: int
) -> Operation[Fetched]:
    """Fetch committed batches: `Client.fetch`."""
    # A node that held the request for the whole time of the call would leave no time for its response.
    max_wait_ms = min(max_wait_ms, deadline.timeout_ms // 2)

    def request_to(leader: LeaderNode, *, max_wait_ms: int = max_wait_ms) -> fetch.FetchRequest:
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

    status_of = partial(_status_of_fetch, start_offset=start_offset)
    read = yield from ask_readers(
        session,
        lambda leader: request_to(leader, max_wait_ms=min(max_wait_ms, _WAIT_FOR_READER_MS)),
        status_of,
        _has_records,
        deadline,
    )
    if read is not None:
        return _fetched(read.response, reader=read.endpoint)
    if (yield from session.find_software(deadline)) is Software.APACHE_KAFKA:
        return (
            yield from controllers.fetch_committed(
                session, deadline, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms
            )
        )
    found = yield from ask_leader_or_others(
        session,
        request_to,
        lambda leader: request_to(leader, max_wait_ms=0),
        status_of,
        _has_records,
        deadline,
        may_wait_ms=max_wait_ms,
    )
    return _fetched(found.response, reader=found.endpoint)


def _status_of_fetch(response: fetch.FetchResponse, *, start_offset: Offset) -> ResponseStatus:
    if response.error_code:
        return ResponseStatus(error=response.error_code)
    partition = sole_partition(response.responses)
    if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        raise OffsetOutOfRangeError(
            f"offset {start_offset} is out of range: the log holds {max(partition.log_start_offset, 0)} to "
            f"{max(partition.high_watermark, 0)}",
            log_start_offset=Offset(max(partition.log_start_offset, 0)),
            high_watermark=offset_or_none(partition.high_watermark),
        )
    if partition.error_code == ErrorCode.STORAGE_ERROR:
        raise DamagedRecordsError(start_offset)
    return ResponseStatus(error=partition.error_code, epoch=epoch_or_none(partition.current_leader.leader_epoch))


def _has_records(response: fetch.FetchResponse) -> bool:
    return bool(sole_partition(response.responses).records)


def _fetched(response: fetch.FetchResponse, *, reader: Endpoint | None = None) -> Fetched:
    partition = sole_partition(response.responses)
    return Fetched(
        records=partition.records or b"",
        last_stable_offset=offset_or_none(partition.last_stable_offset),
        aborted=tuple(
            AbortedTransaction(each.producer_id, Offset(each.first_offset))
            for each in partition.aborted_transactions or ()
        ),
        log_start_offset=Offset(max(partition.log_start_offset, 0)),
        compacted_end=offset_or_none(partition.compacted_end),
        reader=reader,
    )


def find_offset(session: Session, deadline: Deadline, timestamp: int) -> Operation[FoundOffset | None]:
    """Find an offset by its timestamp: `Client.find_offset`."""
    if (yield from session.find_software(deadline)) is Software.APACHE_KAFKA:
        return (yield from controllers.find_offset(session, deadline, timestamp))

    def request_to(leader: LeaderNode) -> offsets.ListOffsetsRequest:
        partition = offsets.ListOffsetsRequestPartition(
            partition_index=0, current_leader_epoch=session.epoch, timestamp=timestamp
        )
        topic = offsets.ListOffsetsRequestTopic(name=leader.topic.name, partitions=(partition,))
        return offsets.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=1,
            topics=(topic,),
            timeout_ms=session.settings.request_timeout_ms,
            is_linearizable=timestamp == offsets.LATEST_TIMESTAMP,
        )

    def status_of(response: offsets.ListOffsetsResponse) -> ResponseStatus:
        partition = sole_partition(response.topics)
        # The last stable offset comes with the leader's own epoch; other offsets come with the epoch of their record.
        is_leaders = timestamp == offsets.LATEST_TIMESTAMP
        return ResponseStatus(
            error=partition.error_code, epoch=epoch_or_none(partition.leader_epoch) if is_leaders else None
        )

    partition = sole_partition((yield from session.ask_leader(request_to, status_of, deadline)).topics)
    if partition.offset < 0:
        return None
    return FoundOffset(offset=Offset(partition.offset), epoch=epoch_or_none(partition.leader_epoch))


def end_of_epoch(session: Session, deadline: Deadline, epoch: Epoch) -> Operation[OffsetAndEpoch | None]:
    """Find the end of an epoch: `Client.end_of_epoch`."""
    if (yield from session.find_software(deadline)) is Software.APACHE_KAFKA:
        return (yield from controllers.end_of_epoch(session, deadline, epoch))
    return _epoch_end((yield from _ask_for_epoch(session, deadline, epoch)))


def plan_batch(
    session: Session,
    deadline: Deadline,
    *,
    start_offset: Offset,
    epoch: Epoch,
    max_records: int | None = None,
    max_bytes: int | None = None,
    end_offset: Offset | None = None,
) -> Operation[BatchPlan]:
    """Plan the next batch of a stream: `Client.plan_batch`."""
    if (yield from session.find_software(deadline)) is Software.KRAFT_SPARK:
        request = epochs.BatchPlanRequest(
            start_offset=start_offset,
            max_records=-1 if max_records is None else max_records,
            max_bytes=-1 if max_bytes is None else max_bytes,
            end_offset=-1 if end_offset is None else end_offset,
        )
        partition = yield from _ask_for_epoch(session, deadline, epoch, request)
        plan = partition.batch_plan
        if plan.last_stable_offset >= 0:
            return BatchPlan(
                log_start_offset=Offset(plan.log_start_offset),
                last_stable_offset=Offset(plan.last_stable_offset),
                epoch_end=_epoch_end(partition),
                start=_place(plan.start),
                end=_place(plan.end),
                size_bytes=plan.size_bytes if plan.size_bytes >= 0 else None,
            )
    latest = yield from find_offset(session, deadline, offsets.LATEST_TIMESTAMP)
    earliest = yield from find_offset(session, deadline, offsets.EARLIEST_TIMESTAMP)
    if latest is None or earliest is None:
        raise DecodeError("ListOffsets response without the offset of the start or the end of the log")
    return BatchPlan(
        log_start_offset=earliest.offset,
        last_stable_offset=latest.offset,
        epoch_end=(yield from end_of_epoch(session, deadline, epoch)),
    )


def _ask_for_epoch(
    session: Session,
    deadline: Deadline,
    epoch: Epoch,
    plan: epochs.BatchPlanRequest = epochs.BatchPlanRequest(),  # noqa: B008 - frozen
) -> Operation[epochs.OffsetForLeaderEpochResponsePartition]:
    def request_to(leader: LeaderNode) -> epochs.OffsetForLeaderEpochRequest:
        partition = epochs.OffsetForLeaderEpochRequestPartition(
            partition=0, current_leader_epoch=session.epoch, leader_epoch=epoch, batch_plan_request=plan
        )
        topic = epochs.OffsetForLeaderEpochRequestTopic(topic=leader.topic.name, partitions=(partition,))
        return epochs.OffsetForLeaderEpochRequest(replica_id=-1, topics=(topic,))

    def status_of(response: epochs.OffsetForLeaderEpochResponse) -> ResponseStatus:
        return ResponseStatus(error=sole_partition(response.topics).error_code)

    return sole_partition((yield from session.ask_leader(request_to, status_of, deadline)).topics)


def _epoch_end(partition: epochs.OffsetForLeaderEpochResponsePartition) -> OffsetAndEpoch | None:
    if partition.end_offset < 0:
        return None
    return OffsetAndEpoch(epoch=Epoch(partition.leader_epoch), offset=Offset(partition.end_offset))


def _place(place: epochs.LogPosition) -> LogPosition | None:
    if place.offset < 0:
        return None
    return LogPosition(
        offset=Offset(place.offset),
        epoch=Epoch(max(place.epoch, 0)),
        checksum=place.checksum if place.checksum >= 0 else None,
    )
