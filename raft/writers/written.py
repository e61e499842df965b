"""What the table of writers remembers of each writer, and the whole table at one end of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from raft.types import BatchHeader, Offset

SEQUENCES = 1 << 31
"""Sequence numbers of an idempotent producer go round at this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One remembered batch.

    Fields:
        epoch: the producer epoch.
        sequence: of the first record.
        record_count: how many records.
        base_offset: where it begins.
        end_offset: where it ends.
        log_time_ms: the log time when it was appended (`WriterExpiry`).
        content_checksum: that of `BatchHeader`.
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
        """What is remembered of a batch."""
        return cls(
            epoch=header.producer_epoch,
            sequence=header.base_sequence,
            record_count=header.record_count,
            base_offset=header.base_offset,
            end_offset=header.end_offset,
            log_time_ms=log_time_ms,
            content_checksum=header.content_checksum,
        )

    @property
    def next_sequence(self) -> int:
        """The sequence number that an idempotent producer goes on with."""
        return (self.sequence + self.record_count) % SEQUENCES


History = tuple[Written, ...]
"""The remembered batches of one writer, at least one, oldest first. All are of one producer epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableImage:
    """The table of writers as a log makes it that ends at one offset. It does not change with the table.

    Fields:
        end_offset: end of that log.
        log_time_ms: its log time; -1 while it has none.
        first_log_time_ms: the first that it had. A write without a log time counts as written then.
        histories: by producer id; those that wrote longest ago come first.
    """

    end_offset: Offset
    log_time_ms: int
    first_log_time_ms: int
    histories: Mapping[int, History]
