"""What the table of writers remembers of each writer, and the whole table for one end of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from raft.types import BatchHeader, Offset, WriteCommit
from raft.writers.keys import version_of

SEQUENCES = 1 << 31
"""The number of sequence numbers; after the last one, an idempotent producer continues with 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One remembered batch.

    Fields:
        epoch: the producer epoch.
        sequence: sequence number of the first record.
        record_count: number of records; for the commit of a multipart write, those of all its parts.
        base_offset: offset of the first record.
        end_offset: offset after the last record.
        log_time_ms: log time when it was appended (`WriterExpiry`).
        content_checksum: as in `BatchHeader`.
    """

    epoch: int
    sequence: int
    record_count: int
    base_offset: Offset
    end_offset: Offset
    log_time_ms: int
    content_checksum: int | None

    @classmethod
    def of(cls, header: BatchHeader, *, log_time_ms: int) -> Written:
        """Return what is remembered of a batch."""
        record_count, content_checksum = content_of(header)
        return cls(
            epoch=header.producer_epoch,
            sequence=header.base_sequence,
            record_count=record_count,
            base_offset=header.base_offset,
            end_offset=header.end_offset,
            log_time_ms=log_time_ms,
            content_checksum=content_checksum,
        )

    @property
    def version(self) -> int:
        """The version of a keyed write."""
        return version_of(self.epoch, self.sequence)

    @property
    def next_sequence(self) -> int:
        """The sequence number with which an idempotent producer continues."""
        return (self.sequence + self.record_count) % SEQUENCES


def content_of(header: BatchHeader) -> tuple[int, int | None]:
    """Return number of records and content checksum of a write: those of its batch, or of all parts of its commit."""
    commit = header.control_value
    if isinstance(commit, WriteCommit):
        return commit.record_count, commit.content_checksum
    return header.record_count, header.content_checksum


History = tuple[Written, ...]
"""The remembered batches of one writer, at least one, oldest first. All are of one producer epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableImage:
    """The table of writers for a log that ends at one offset. It does not change with the table.

    Fields:
        end_offset: end of that log.
        log_time_ms: its log time; `NO_LOG_TIME_MS` while it has none.
        first_log_time_ms: its first log time, which counts for writes before the first timestamp.
        histories: by producer id; within a kind, the writer with the oldest last write comes first.
    """

    end_offset: Offset
    log_time_ms: int
    first_log_time_ms: int
    histories: Mapping[int, History]
