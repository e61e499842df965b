"""Short names for what transactions append and ask for."""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import ControlBatch, Effect
from raft.core.events import AppendRequested, ProducerInitRequested, TransactionEndRequested
from raft.types import (
    Batch,
    BatchHeader,
    ControlType,
    ControlValue,
    Epoch,
    Offset,
    TransactionalId,
    WriteCommit,
    WritePart,
)
from raft.writers import WriteId, WriteKey
from tests.core.builder import Node
from tests.core.wording import REQUEST_ID, US, begin_response

KEY = WriteKey("a query", 3)
WRITE = WriteId(KEY.producer_id, KEY.version)
PART, OTHER_PART, THIRD_PART = (WRITE.part_producer_id(number) for number in (1, 2, 3))
PRODUCER = 7
NAME = "orders"


def data(
    by: int,
    *,
    at: int = 0,
    epoch: int = -1,
    records: int = 1,
    sequence: int = 0,
    producer_epoch: int = 0,
    content: int | None = None,
) -> Batch:
    """A batch of a transaction; at offset 0 and without an epoch as a client sends it."""
    header = BatchHeader(
        base_offset=Offset(at),
        last_offset=Offset(at + records - 1),
        epoch=Epoch(epoch),
        size_bytes=100,
        record_count=records,
        producer_id=by,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        is_transactional=True,
        content_checksum=content,
    )
    return Batch(header=header, payload=b"")


def commit_of_write(*parts: WritePart, at: int = 0, epoch: int = -1, key: WriteKey = KEY) -> Batch:
    """The commit of a multipart write, as its driver sends it."""
    header = BatchHeader(
        base_offset=Offset(at),
        last_offset=Offset(at),
        epoch=Epoch(epoch),
        size_bytes=100,
        record_count=1,
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
        control_types=(ControlType.WRITE_COMMIT,),
        control_value=WriteCommit(parts=parts),
    )
    return Batch(header=header, payload=b"")


def part(producer_id: int, *, records: int = 1, content: int = 0) -> WritePart:
    """A part, as a WRITE_COMMIT names it."""
    return WritePart(producer_id=producer_id, record_count=records, content_checksum=content)


def marker(end: ControlType, by: int, *, at: int, epoch: int, producer_epoch: int = 0) -> ControlBatch:
    """The marker that the leader appends."""
    return _control(end, by, at, epoch, producer_epoch, is_transactional=True)


def names(
    producer_id: int,
    producer_epoch: int,
    *,
    at: int,
    epoch: int,
    timeout_ms: int = 1000,
    previous: tuple[int, int] | None = None,
) -> ControlBatch:
    """The TRANSACTIONAL_ID record that the leader appends."""
    value = TransactionalId(name=NAME, timeout_ms=timeout_ms, previous=previous)
    return _control(ControlType.TRANSACTIONAL_ID, producer_id, at, epoch, producer_epoch, value=value)


def _control(
    kind: ControlType,
    by: int,
    at: int,
    epoch: int,
    producer_epoch: int,
    *,
    is_transactional: bool = False,
    value: ControlValue | None = None,
) -> ControlBatch:
    return ControlBatch(
        header=BatchHeader(
            base_offset=Offset(at),
            last_offset=Offset(at),
            epoch=Epoch(epoch),
            size_bytes=0,
            record_count=1,
            producer_id=by,
            producer_epoch=producer_epoch,
            is_transactional=is_transactional,
            control_types=(kind,),
            control_value=value,
        )
    )


def sent(
    batch: Batch,
    *,
    transactional_id: str | None = WRITE.transactional_id,
    request_id: int = REQUEST_ID,
    timeout_ms: int = 1000,
) -> AppendRequested:
    """A client appends a batch, as part of the write if nothing else is said."""
    return AppendRequested(request_id=request_id, batch=batch, timeout_ms=timeout_ms, transactional_id=transactional_id)


def confirmed(node: Node, *, now_ms: int = 200) -> list[Effect]:
    """Voter 2 accepts the announcement that was in flight, then one that was sent after the request. What the leader
    does then.
    """
    accepted = begin_response(epoch=node.core.epoch, leader=US)
    node.gets(accepted, of=2, now_ms=now_ms)
    return node.gets(accepted, of=2, now_ms=now_ms)


def placed(batch: Batch, *, at: int, epoch: int) -> Batch:
    """The batch with its offsets in the log and the leader's epoch."""
    header = batch.header
    return replace(
        batch,
        header=replace(
            header,
            base_offset=Offset(at),
            last_offset=Offset(at + header.last_offset - header.base_offset),
            epoch=Epoch(epoch),
        ),
    )


def inits(
    *,
    present: tuple[int, int] | None = None,
    new_producer_id: int = PRODUCER,
    transaction_timeout_ms: int = 1000,
    request_id: int = REQUEST_ID,
) -> ProducerInitRequested:
    """A producer begins to use the transactional id."""
    return ProducerInitRequested(
        request_id=request_id,
        transactional_id=NAME,
        transaction_timeout_ms=transaction_timeout_ms,
        new_producer_id=new_producer_id,
        present=present,
        timeout_ms=500,
    )


def ends(
    end: ControlType,
    *,
    by: int = PRODUCER,
    producer_epoch: int = 0,
    transactional_id: str | None = NAME,
    new_producer_id: int | None = None,
    request_id: int = REQUEST_ID,
) -> TransactionEndRequested:
    """A client ends a transaction."""
    return TransactionEndRequested(
        request_id=request_id,
        transactional_id=transactional_id,
        producer_id=by,
        producer_epoch=producer_epoch,
        end=end,
        new_producer_id=new_producer_id,
        timeout_ms=500,
    )
