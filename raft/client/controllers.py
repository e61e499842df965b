"""The calls of a client that Apache Kafka's controllers serve in another way than this project's nodes.

Controllers serve Fetch to replicas only, and neither ListOffsets nor OffsetForLeaderEpoch. So a client uses Fetch for
everything, as an observer without an id: the leader responds to it and does not track it. The response holds the high
watermark and the log start offset. A fetch beyond the end of the log also tells where the last fetched epoch that it
names ends. The records of a response may be uncommitted: those are left out here.

A leader that has snapshots (the one at offset 0, made by formatting, does not count) names its newest snapshot instead
of sending records in three cases:

    fetch from offset 0                    always. The record at offset 0, a control record of the first leader, cannot
                                           be fetched if it is a batch by itself: a read from 0 begins at offset 1
    fetch from a later log start offset    unless the request names the epoch of the oldest snapshot, which ends there
    last fetched epoch below that epoch    wherever the log starts

Source: Kafka KafkaRaftClient.tryCompleteFetchRequest, RaftLog.validateOffsetAndEpoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.client.discovery import LeaderNode
from raft.client.results import Fetched, FoundOffset
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Operation
from raft.errors import DecodeError, ErrorCode, OffsetOutOfRangeError
from raft.records.batch import read_records
from raft.records.batches import read_batches, read_headers
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire.mapping.partition import epoch_or_none, sole_partition
from raft.wire.messages import fetch
from raft.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

_BEYOND_EVERY_LOG = Offset(1 << 60)
_SCAN_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    """The response of a leader to a Fetch.

    Fields:
        log_start_offset, high_watermark: of its log.
        records: whole batches from the fetch offset on, committed or not.
        diverging: where the last fetched epoch ends, if that is before the fetch offset; None if it is not.
        snapshot: the newest snapshot, to be loaded instead of records, see the module; None if there are records.
    """

    log_start_offset: Offset
    high_watermark: Offset
    records: bytes
    diverging: OffsetAndEpoch | None
    snapshot: OffsetAndEpoch | None


def fetch_committed(
    session: Session, deadline: Deadline, start_offset: Offset, *, max_bytes: int, max_wait_ms: int
) -> Operation[Fetched]:
    """Fetch committed batches from a controller. From offset 0, the first may begin at offset 1 (see the module)."""
    response = yield from _fetch(session, deadline, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms)
    if response.snapshot is not None and response.log_start_offset <= start_offset:
        # The log holds the records. From offset 0 they can only be had with the batch of the second record, which may
        # hold the first one too; from a later log start offset, by naming the epoch that the leader expects.
        epoch = (
            (yield from _oldest_snapshot_epoch(session, deadline, response.snapshot.epoch)) if start_offset else None
        )
        response = yield from _fetch(
            session,
            deadline,
            start_offset or Offset(1),
            last_epoch=epoch,
            max_bytes=max_bytes,
            max_wait_ms=max_wait_ms,
        )
    if start_offset < response.log_start_offset or response.diverging is not None or response.snapshot is not None:
        raise OffsetOutOfRangeError(
            f"offset {start_offset} is out of range: the log holds {response.log_start_offset} to "
            f"{response.high_watermark}",
            log_start_offset=response.log_start_offset,
            high_watermark=response.high_watermark,
        )
    return Fetched(
        records=_committed(response),
        last_stable_offset=response.high_watermark,
        log_start_offset=response.log_start_offset,
    )


def _oldest_snapshot_epoch(session: Session, deadline: Deadline, newest: Epoch) -> Operation[Epoch]:
    """The epoch of the oldest snapshot, which no response names: the lowest epoch whose end the leader knows.

    Args:
        session: sends the requests.
        deadline: when to give up.
        newest: the epoch of the newest snapshot.
    """
    lowest, highest = Epoch(0), newest
    while lowest < highest:
        asked = Epoch((lowest + highest) // 2)
        response = yield from _fetch(session, deadline, _BEYOND_EVERY_LOG, last_epoch=asked)
        if response.snapshot is None:
            highest = asked
        else:
            lowest = Epoch(asked + 1)
    return lowest


def find_offset(session: Session, deadline: Deadline, timestamp: int) -> Operation[FoundOffset | None]:
    """Find an offset by its timestamp, by reading the log of a controller from its start."""
    probe = yield from _fetch(session, deadline, _BEYOND_EVERY_LOG)
    if timestamp == LATEST_TIMESTAMP:
        return FoundOffset(offset=probe.high_watermark, epoch=session.epoch)
    if timestamp == EARLIEST_TIMESTAMP:
        return FoundOffset(offset=probe.log_start_offset, epoch=None)
    offset = probe.log_start_offset
    while offset < probe.high_watermark:
        fetched = yield from fetch_committed(session, deadline, offset, max_bytes=_SCAN_BYTES, max_wait_ms=0)
        for batch in list(read_batches(fetched.records)):
            if not batch.header.is_control and batch.header.max_timestamp_ms >= timestamp:
                for record in read_records(batch.payload):
                    if record.timestamp_ms >= timestamp:
                        return FoundOffset(offset=record.offset, epoch=batch.header.epoch)
            offset = batch.header.end_offset
        if not fetched.records:
            break
    return None


def end_of_epoch(session: Session, deadline: Deadline, epoch: Epoch) -> Operation[OffsetAndEpoch | None]:
    """Find the end of an epoch in the log of a controller.

    Returns:
        For an epoch older than that of the oldest snapshot, whose end the leader does not know: epoch and end of the
        newest snapshot. That epoch is always above the one asked for.
    """
    if epoch > session.epoch:
        return None
    response = yield from _fetch(session, deadline, _BEYOND_EVERY_LOG, last_epoch=epoch)
    end = response.diverging or response.snapshot
    if end is None:
        raise DecodeError(f"no end of epoch {epoch} in the response to a fetch beyond the end of the log")
    return OffsetAndEpoch(epoch=end.epoch, offset=min(end.offset, response.high_watermark))


def _fetch(
    session: Session,
    deadline: Deadline,
    offset: Offset,
    *,
    last_epoch: Epoch | None = None,
    max_bytes: int = 1,
    max_wait_ms: int = 0,
) -> Operation[_Response]:
    """Fetch from the leader. Without a last fetched epoch, the request names the leader's own.

    That is right wherever the log has records: the leader only checks that the epoch does not end before the offset.
    """

    def request_to(leader: LeaderNode) -> fetch.FetchRequest:
        partition = fetch.FetchRequestPartition(
            partition=0,
            current_leader_epoch=session.epoch,
            fetch_offset=offset,
            last_fetched_epoch=session.epoch if last_epoch is None else last_epoch,
            partition_max_bytes=max_bytes,
        )
        topic = fetch.FetchRequestTopic(
            topic=leader.topic.name, topic_id=leader.topic.topic_id, partitions=(partition,)
        )
        return fetch.FetchRequest(max_wait_ms=max_wait_ms, min_bytes=0, max_bytes=max_bytes, topics=(topic,))

    def status_of(response: fetch.FetchResponse) -> ResponseStatus:
        if response.error_code:
            return ResponseStatus(error=response.error_code)
        partition = sole_partition(response.responses)
        # A leader that was just elected does not know the high watermark yet.
        is_early = not partition.error_code and partition.high_watermark < 0
        error = ErrorCode.OFFSET_NOT_AVAILABLE if is_early else partition.error_code
        return ResponseStatus(error=error, epoch=epoch_or_none(partition.current_leader.leader_epoch))

    response = yield from session.ask_leader(request_to, status_of, deadline, may_wait_ms=max_wait_ms)
    partition = sole_partition(response.responses)
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    return _Response(
        log_start_offset=Offset(max(partition.log_start_offset, 0)),
        high_watermark=Offset(partition.high_watermark),
        records=partition.records or b"",
        diverging=_point(diverging.epoch, diverging.end_offset),
        snapshot=_point(snapshot.epoch, snapshot.end_offset),
    )


def _committed(response: _Response) -> bytes:
    """The committed batches of a response."""
    end = 0
    for header in read_headers(response.records):
        if header.end_offset > response.high_watermark:
            break
        end += header.size_bytes
    return response.records[:end]


def _point(epoch: int, offset: int) -> OffsetAndEpoch | None:
    return OffsetAndEpoch(epoch=Epoch(epoch), offset=Offset(offset)) if epoch >= 0 and offset >= 0 else None
