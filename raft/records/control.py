"""Control batches: the protocol's own records, as typed values.

Source: rules CONTROL-1 to CONTROL-9; Kafka ControlRecordUtils, MemoryRecords.withLeaderChangeMessage.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from raft.codec import Message, decode, encode
from raft.errors import DecodeError
from raft.records.batch import build_batch, read_records
from raft.records.control_key import read_control_type, write_control_key
from raft.records.control_messages import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from raft.records.control_values import read_control_value, write_control_value
from raft.records.header import MAX_CONTROL_BYTES
from raft.records.record import Record
from raft.types import BatchHeader, ControlType, Epoch, NodeId, Offset, TransactionalId, WriteCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionMarker:
    """ABORT or COMMIT: ends the transaction of the producer that the batch's header names."""

    version: int
    coordinator_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownControlValue:
    """The value of a control record of an unknown type, not parsed."""

    value: bytes


ControlValue = (
    LeaderChangeMessage
    | SnapshotHeaderRecord
    | SnapshotFooterRecord
    | KRaftVersionRecord
    | VotersRecord
    | EndTransactionMarker
    | WriteCommit
    | TransactionalId
    | UnknownControlValue
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecord:
    """One control record: offset, timestamp, type (known or not) and value."""

    offset: Offset
    timestamp_ms: int
    control_type: int
    value: ControlValue


_MESSAGES: dict[int, type[Message]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_LEADER_CHANGE_VERSION = 0
_MARKER_VERSION = 0

_VERSION = struct.Struct(">h")
_MARKER = struct.Struct(">hi")


def leader_change_batch(
    *,
    base_offset: Offset,
    epoch: Epoch,
    leader_id: NodeId,
    voters: Sequence[NodeId],
    granting_voters: Sequence[NodeId],
    timestamp_ms: int,
) -> bytes:
    """Return the control batch with which a leader begins its epoch (CONTROL-1, CONTROL-2).

    Args:
        base_offset: log end offset of the new leader.
        epoch: of the leader.
        leader_id: id of the leader.
        voters: the voters of the epoch, in the order of the record.
        granting_voters: the voters that voted for the leader, with the leader.
        timestamp_ms: wall clock, since 1970.
    """
    message = LeaderChangeMessage(
        version=_LEADER_CHANGE_VERSION,
        leader_id=leader_id,
        voters=tuple(LeaderChangeVoter(voter_id=voter) for voter in voters),
        granting_voters=tuple(LeaderChangeVoter(voter_id=voter) for voter in granting_voters),
    )
    record = Record(
        key=write_control_key(ControlType.LEADER_CHANGE),
        value=encode(message, _LEADER_CHANGE_VERSION),
        timestamp_ms=timestamp_ms,
    )
    return build_batch([record], base_offset=base_offset, epoch=epoch, is_control=True)


def leaders_control_batch(header: BatchHeader, *, timestamp_ms: int) -> bytes:
    """Return a control batch that a leader appends: an end marker of a transaction, or a record of this project.

    Args:
        header: of the batch. Its size is not known yet.
        timestamp_ms: wall clock, since 1970.
    """
    (control_type,) = header.control_types
    if header.control_value is not None:
        value = write_control_value(header.control_value)
    else:
        value = _MARKER.pack(_MARKER_VERSION, header.epoch)
    record = Record(key=write_control_key(control_type), value=value, timestamp_ms=timestamp_ms)
    return build_batch(
        [record],
        base_offset=header.base_offset,
        epoch=header.epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=True,
    )


def write_commit_batch(
    commit: WriteCommit, *, producer_id: int, producer_epoch: int, base_sequence: int, timestamp_ms: int
) -> bytes:
    """Return the control batch by which a client commits a multipart write (TXN-6).

    Args:
        commit: the parts.
        producer_id: with producer_epoch and base_sequence the key of the write.
        producer_epoch: of the key.
        base_sequence: of the key.
        timestamp_ms: wall clock, since 1970.
    """
    key = write_control_key(ControlType.WRITE_COMMIT)
    return build_batch(
        [Record(key=key, value=write_control_value(commit), timestamp_ms=timestamp_ms)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_control=True,
    )


def read_control_records(payload: bytes) -> tuple[ControlRecord, ...]:
    """Return the records of one whole control batch.

    Raises:
        DecodeError: the batch, a key or a value is malformed.
    """
    return tuple(read_control_record(record) for record in read_records(payload, max_bytes=MAX_CONTROL_BYTES))


def read_control_record(record: Record) -> ControlRecord:
    """Return the typed value of one record of a control batch.

    Raises:
        DecodeError: its key or value is malformed.
    """
    control_type = read_control_type(record)
    return ControlRecord(
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        control_type=control_type,
        value=_read_value(control_type, record.value or b""),
    )


def _read_value(control_type: int, value: bytes) -> ControlValue:
    if control_type in (ControlType.ABORT, ControlType.COMMIT):
        if len(value) < _MARKER.size:
            raise DecodeError(f"end of a transaction in {len(value)} bytes")
        version, coordinator_epoch = _MARKER.unpack_from(value)
        _check_version(version)
        return EndTransactionMarker(version=version, coordinator_epoch=coordinator_epoch)
    ours = read_control_value(control_type, value)
    if ours is not None:
        return ours
    message_class = _MESSAGES.get(control_type)
    if message_class is None:
        return UnknownControlValue(value=value)
    if len(value) < _VERSION.size:
        raise DecodeError(f"control value of {len(value)} bytes")
    (version,) = _VERSION.unpack_from(value)
    _check_version(version)
    # A newer version is read as the newest known version (CONTROL-8), because new fields come after the others.
    readable_version = min(version, message_class.__schema__.versions.highest)
    return cast("ControlValue", decode(message_class, readable_version, value))


def _check_version(version: int) -> None:
    if version < 0:
        raise DecodeError(f"control value of version {version}")
