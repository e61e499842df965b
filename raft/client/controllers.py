"""The calls of a client whose answers Apache Kafka's controllers give in another way than this project's nodes.

Controllers serve Fetch to replicas only, and ListOffsets and OffsetForLeaderEpoch not at all. So everything is asked by
Fetch, as an observer without an id, whom the leader answers and does not count. Such an answer tells the high
watermark and the log's start; and asked beyond the end of the log, where the epoch named as the last one fetched ends.
It may hold records that are not committed yet: these are cut off here.

A leader that has snapshots (one at offset 0, from formatting, does not count) names its newest one instead of giving
records, in three cases:

    fetch from offset 0                       always. A first batch of one record, the first leader's own control
                                              record, thus cannot be had: a read from 0 begins at offset 1
    fetch from a later start of the log       unless the epoch named is that of the oldest snapshot, which ends there
    epoch named is older than that snapshot   wherever the log starts

Source: Kafka KafkaRaftClient.tryCompleteFetchRequest, RaftLog.validateOffsetAndEpoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.client.discovery import Leader
from raft.client.results import Fetched, FoundOffset
from raft.client.session import Deadline, Judged, Session
from raft.client.steps import Operation
from raft.errors import DecodeError, ErrorCode, OffsetOutOfRangeError
from raft.records.batch import read_records
from raft.records.split import split_batches, walk_headers
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire.messages import fetch
from raft.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

_BEYOND_EVERY_LOG = Offset(1 << 60)
_SCAN_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a leader says to a Fetch.

    Fields:
        log_start_offset, high_watermark: of its log.
        records: from the offset asked for on, whole batches, committed or not.
        diverging: where the epoch named ends, if that is before the offset asked for.
        snapshot: the newest one, to load instead; see the module.
    """

    log_start_offset: Offset
    high_watermark: Offset
    records: bytes
    diverging: OffsetAndEpoch | None
    snapshot: OffsetAndEpoch | None


def fetch_committed(
    session: Session, deadline: Deadline, start_offset: Offset, *, max_bytes: int, max_wait_ms: int
) -> Operation[Fetched]:
    """See `raft.client.calls.fetch_committed`; from offset 0, it may begin with the record at offset 1 (see above)."""
    answer = yield from _fetch(session, deadline, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms)
    if answer.snapshot is not None and answer.log_start_offset <= start_offset:
        # The records are there all the same. At offset 0 nothing helps but to ask for the batch of the second record,
        # which may hold the first one too; at a later start, the epoch that the leader wants named.
        epoch = (yield from _oldest_epoch_told(session, deadline, answer.snapshot.epoch)) if start_offset else None
        answer = yield from _fetch(
            session,
            deadline,
            start_offset or Offset(1),
            last_epoch=epoch,
            max_bytes=max_bytes,
            max_wait_ms=max_wait_ms,
        )
    if start_offset < answer.log_start_offset or answer.diverging is not None or answer.snapshot is not None:
        raise OffsetOutOfRangeError(
            f"offset {start_offset} is out of range: the log holds {answer.log_start_offset} to "
            f"{answer.high_watermark}",
            log_start_offset=answer.log_start_offset,
            high_watermark=answer.high_watermark,
        )
    return Fetched(
        records=_committed(answer),
        high_watermark=answer.high_watermark,
        log_start_offset=answer.log_start_offset,
    )


def _oldest_epoch_told(session: Session, deadline: Deadline, newest: Epoch) -> Operation[Epoch]:
    """Epoch of the oldest snapshot, which no answer names: the lowest one whose end is told, up to the newest one's."""
    lowest, highest = Epoch(0), newest
    while lowest < highest:
        asked = Epoch((lowest + highest) // 2)
        answer = yield from _fetch(session, deadline, _BEYOND_EVERY_LOG, last_epoch=asked)
        if answer.snapshot is None:
            highest = asked
        else:
            lowest = Epoch(asked + 1)
    return lowest


def find_offset(session: Session, deadline: Deadline, timestamp: int) -> Operation[FoundOffset | None]:
    """See `raft.client.calls.find_offset`; a time is looked for by reading the log from its start."""
    probe = yield from _fetch(session, deadline, _BEYOND_EVERY_LOG)
    if timestamp == LATEST_TIMESTAMP:
        return FoundOffset(offset=probe.high_watermark, epoch=session.epoch)
    if timestamp == EARLIEST_TIMESTAMP:
        return FoundOffset(offset=probe.log_start_offset, epoch=None)
    offset = probe.log_start_offset
    while offset < probe.high_watermark:
        fetched = yield from fetch_committed(session, deadline, offset, max_bytes=_SCAN_BYTES, max_wait_ms=0)
        for batch in split_batches(fetched.records):
            if not batch.header.is_control and batch.header.max_timestamp_ms >= timestamp:
                for record in read_records(batch.payload):
                    if record.timestamp_ms >= timestamp:
                        return FoundOffset(offset=record.offset, epoch=batch.header.epoch)
            offset = batch.header.end_offset
        if not fetched.records:
            break
    return None


def end_of_epoch(session: Session, deadline: Deadline, epoch: Epoch) -> Operation[OffsetAndEpoch | None]:
    """See `raft.client.calls.end_of_epoch`.

    Returns:
        For an epoch older than the oldest snapshot's, whose end is not told: epoch and end of the newest snapshot. That
        epoch is always above the one asked for.
    """
    if epoch > session.epoch:
        return None
    answer = yield from _fetch(session, deadline, _BEYOND_EVERY_LOG, last_epoch=epoch)
    end = answer.diverging or answer.snapshot
    if end is None:
        raise DecodeError(f"no end of epoch {epoch} in an answer beyond the end of the log")
    return OffsetAndEpoch(epoch=end.epoch, offset=min(end.offset, answer.high_watermark))


def _fetch(
    session: Session,
    deadline: Deadline,
    offset: Offset,
    *,
    last_epoch: Epoch | None = None,
    max_bytes: int = 1,
    max_wait_ms: int = 0,
) -> Operation[_Answer]:
    """Fetch from the leader; the epoch of the record before is taken for the leader's own if it is not known.

    That is right wherever there are records: what the leader checks is that the epoch named does not end before.
    """

    def make(leader: Leader) -> fetch.FetchRequest:
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

    def judge(answer: fetch.FetchResponse) -> Judged:
        if answer.error_code:
            return Judged(error=answer.error_code)
        partition = _sole(answer)
        epoch = partition.current_leader.leader_epoch
        # A leader that was elected just now does not know yet what is committed.
        is_early = not partition.error_code and partition.high_watermark < 0
        error = ErrorCode.OFFSET_NOT_AVAILABLE if is_early else partition.error_code
        return Judged(error=error, epoch=Epoch(epoch) if epoch >= 0 else None)

    answer = yield from session.ask_leader(make, judge, deadline, may_wait_ms=max_wait_ms)
    partition = _sole(answer)
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    return _Answer(
        log_start_offset=Offset(max(partition.log_start_offset, 0)),
        high_watermark=Offset(partition.high_watermark),
        records=partition.records or b"",
        diverging=_point(diverging.epoch, diverging.end_offset),
        snapshot=_point(snapshot.epoch, snapshot.end_offset),
    )


def _committed(answer: _Answer) -> bytes:
    """The batches of an answer that are committed."""
    end = 0
    for header in walk_headers(answer.records):
        if header.end_offset > answer.high_watermark:
            break
        end += header.size_bytes
    return answer.records[:end]


def _point(epoch: int, offset: int) -> OffsetAndEpoch | None:
    return OffsetAndEpoch(epoch=Epoch(epoch), offset=Offset(offset)) if epoch >= 0 and offset >= 0 else None


def _sole(answer: fetch.FetchResponse) -> fetch.FetchResponsePartition:
    partitions = [partition for topic in answer.responses for partition in topic.partitions]
    if len(partitions) != 1:
        raise DecodeError(f"an answer about {len(partitions)} partitions, where one was asked for")
    return partitions[0]
