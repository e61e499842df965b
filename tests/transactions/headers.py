"""Short names for batch headers of transactions."""

from __future__ import annotations

from raft.types import (
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

KEY = WriteKey("a query", 3)
WRITE = WriteId(KEY.producer_id, KEY.version)
OTHER_WRITE = WriteId(KEY.producer_id, 4)
PART = WRITE.part_producer_id(1)
OTHER_PART = WRITE.part_producer_id(2)
PRODUCER = 7
"""A producer of Kafka."""


def data(
    by: int, at: int, *, records: int = 1, sequence: int = 0, epoch: int = 0, content: int | None = None
) -> BatchHeader:
    """A batch of a transaction; `at` is its base offset, `content` its content checksum."""
    return _header(by, at, records=records, sequence=sequence, epoch=epoch, content=content)


def commit(by: int, at: int, *, epoch: int = 0) -> BatchHeader:
    """A COMMIT marker."""
    return _header(by, at, epoch=epoch, control_types=(ControlType.COMMIT,))


def abort(by: int, at: int, *, epoch: int = 0) -> BatchHeader:
    """An ABORT marker."""
    return _header(by, at, epoch=epoch, control_types=(ControlType.ABORT,))


def write_commit(*parts: WritePart, at: int, key: WriteKey = KEY) -> BatchHeader:
    """The commit of a multipart write."""
    return _header(
        key.producer_id,
        at,
        sequence=key.base_sequence,
        epoch=key.producer_epoch,
        control_types=(ControlType.WRITE_COMMIT,),
        value=WriteCommit(parts=parts),
    )


def transactional_id(
    name: str,
    producer_id: int,
    at: int,
    *,
    epoch: int = 0,
    timeout_ms: int = 1000,
    previous: tuple[int, int] | None = None,
) -> BatchHeader:
    """A TRANSACTIONAL_ID record."""
    return _header(
        producer_id,
        at,
        epoch=epoch,
        control_types=(ControlType.TRANSACTIONAL_ID,),
        value=TransactionalId(name=name, timeout_ms=timeout_ms, previous=previous),
    )


def part(producer_id: int, *, records: int = 1, content: int = 0) -> WritePart:
    """A part, as a WRITE_COMMIT names it."""
    return WritePart(producer_id=producer_id, record_count=records, content_checksum=content)


def _header(
    by: int,
    at: int,
    *,
    records: int = 1,
    sequence: int = -1,
    epoch: int = 0,
    content: int | None = None,
    control_types: tuple[int, ...] = (),
    value: ControlValue | None = None,
) -> BatchHeader:
    return BatchHeader(
        base_offset=Offset(at),
        last_offset=Offset(at + records - 1),
        epoch=Epoch(1),
        size_bytes=100,
        record_count=records,
        producer_id=by,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=value is None,
        control_types=control_types,
        control_value=value,
        content_checksum=content,
    )
