"""Collects records for a batch."""

from __future__ import annotations

import time

from raft.client.settings import ClientSettings
from raft.errors import ErrorCode, refusal
from raft.records.batch import build_batch
from raft.records.record import NO_TIMESTAMP_MS, Record

_MOST_BESIDE_DATA = 36
"""Most bytes of a record beside key, value and headers: see `raft.records.record`."""

_MOST_OF_A_HEADER = 10
"""Most bytes of a header beside its key and its value: their lengths."""


class RecordGroup:
    """The records of the next batch.

    Args:
        max_bytes: largest size of several records, uncompressed; a larger record is alone in its group.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._records: list[Record] = []
        self._size_bytes = 0

    def __bool__(self) -> bool:
        """Return whether there are records."""
        return bool(self._records)

    def add(self, record: Record) -> list[Record] | None:
        """Add a record, with the present time if it has none. If there is no room for it, it begins the next group.

        Returns:
            The records before it, if it begins the next group; None if it does not.
        """
        if record.timestamp_ms == NO_TIMESTAMP_MS:
            record = Record(
                key=record.key, value=record.value, headers=record.headers, timestamp_ms=int(time.time() * 1000)
            )
        size_bytes = _largest_size(record)
        full = self.take() if self._records and self._size_bytes + size_bytes > self._max_bytes else None
        self._records.append(record)
        self._size_bytes += size_bytes
        return full

    def take(self) -> list[Record]:
        """Return the records, and begin the next group."""
        records, self._records, self._size_bytes = self._records, [], 0
        return records


def encoded(
    records: list[Record],
    settings: ClientSettings,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool = False,
) -> bytes:
    """Return the batch of a group; see `build_batch`.

    Raises:
        RequestError: it is larger than what the client may append.
    """
    batch = build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    if len(batch) > settings.max_request_bytes:
        raise refusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a batch of {len(batch)} bytes is too large: expected at most max_request_bytes="
            f"{settings.max_request_bytes}",
        )
    return batch


def _largest_size(record: Record) -> int:
    size_bytes = _MOST_BESIDE_DATA + len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size_bytes += 4 * len(key) + len(value or b"") + _MOST_OF_A_HEADER
    return size_bytes
