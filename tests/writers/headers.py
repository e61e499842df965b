"""Short names for batch headers of writers."""

from __future__ import annotations

from raft.types import FIRST_KEYED_PRODUCER_ID, BatchHeader, ControlType, Epoch, Offset
from raft.writers import WriteKey

PRODUCER = 7
"""An idempotent producer."""

KEYED_WRITER = FIRST_KEYED_PRODUCER_ID + 7
"""A writer of keyed writes."""


def produced(
    sequence: int,
    *,
    records: int = 1,
    epoch: int = 0,
    by: int | None = PRODUCER,
    at: int = 0,
    is_control: bool = False,
    content: int | None = None,
    time_ms: int = -1,
) -> BatchHeader:
    """A batch of a producer, from this sequence on; `at` is its base offset, `content` its content checksum, `time_ms`
    its largest timestamp.
    """
    return BatchHeader(
        base_offset=Offset(at),
        last_offset=Offset(at + records - 1),
        epoch=Epoch(1),
        size_bytes=100,
        record_count=records,
        max_timestamp_ms=time_ms,
        producer_id=by,
        producer_epoch=epoch,
        base_sequence=sequence,
        control_types=(ControlType.COMMIT,) if is_control else (),
        content_checksum=content,
    )


def keyed(
    version: int,
    *,
    writer: str = "a query",
    records: int = 1,
    at: int = 0,
    content: int | None = 1,
    time_ms: int = -1,
) -> BatchHeader:
    """A keyed write."""
    key = WriteKey(writer, version)
    return produced(
        key.base_sequence,
        records=records,
        epoch=key.producer_epoch,
        by=key.producer_id,
        at=at,
        content=content,
        time_ms=time_ms,
    )
