"""Batches of transactions as they are in a log, and their record kinds."""

from __future__ import annotations

from collections.abc import Sequence

from raft.records.batch import build_batch
from raft.records.control import leader_change_batch, leaders_control_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.storage.log import Log
from raft.transactions import AbortedFinder, AbortedTransaction
from raft.types import Batch, BatchHeader, ControlType, ControlValue, Epoch, NodeId, Offset, TransactionalId

PRODUCER = 7
"""A producer of Kafka."""


def data(
    by: int, at: int, *, records: int = 1, epoch: int = 1, value: bytes = b"row", is_transactional: bool = True
) -> Batch:
    """A batch of a producer; `at` is its base offset."""
    payload = build_batch(
        [Record(value=value, timestamp_ms=1_000 + at)] * records,
        base_offset=Offset(at),
        epoch=Epoch(epoch),
        producer_id=by,
        producer_epoch=0,
        base_sequence=at,
        is_transactional=is_transactional,
    )
    return Batch(header=read_header(payload), payload=payload)


def marker(by: int, at: int, end: ControlType, *, epoch: int = 1) -> Batch:
    """An end marker."""
    return _control(by, at, end, epoch=epoch)


def abort(by: int, at: int, *, epoch: int = 1) -> Batch:
    """An ABORT marker."""
    return marker(by, at, ControlType.ABORT, epoch=epoch)


def commit(by: int, at: int, *, epoch: int = 1) -> Batch:
    """A COMMIT marker."""
    return marker(by, at, ControlType.COMMIT, epoch=epoch)


def transactional_id(by: int, at: int, *, epoch: int = 1) -> Batch:
    """A TRANSACTIONAL_ID record."""
    value = TransactionalId(name="orders", timeout_ms=1_000, previous=None)
    return _control(by, at, ControlType.TRANSACTIONAL_ID, epoch=epoch, value=value)


def leader_change(at: int, epoch: int) -> Batch:
    """The control batch at the start of an epoch."""
    payload = leader_change_batch(
        base_offset=Offset(at), epoch=Epoch(epoch), leader_id=NodeId(1), voters=(), granting_voters=(), timestamp_ms=0
    )
    return Batch(header=read_header(payload), payload=payload)


def _control(by: int, at: int, kind: ControlType, *, epoch: int, value: ControlValue | None = None) -> Batch:
    header = BatchHeader(
        base_offset=Offset(at),
        last_offset=Offset(at),
        epoch=Epoch(epoch),
        size_bytes=0,
        record_count=1,
        producer_id=by,
        producer_epoch=0,
        base_sequence=-1,
        is_transactional=value is None,
        control_types=(kind,),
        control_value=value,
    )
    payload = leaders_control_batch(header, timestamp_ms=1_000 + at)
    return Batch(header=read_header(payload), payload=payload)


def aborted_by(log: Sequence[Batch]) -> list[AbortedTransaction]:
    """The transactions that the batches of a log abort, in the order of their markers."""
    finder = AbortedFinder()
    found = map(finder.appended, (batch.header for batch in log))
    return [aborted for aborted in found if aborted is not None]


def append_all(log: Log, batches: Sequence[Batch]) -> None:
    """Append batches to an empty log one by one, as a leader does that gets them one by one."""
    finder = AbortedFinder()
    for batch in batches:
        aborted = finder.appended(batch.header)
        log.append([batch], () if aborted is None else (aborted,))
