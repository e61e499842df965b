"""What a scanner does: it walks over the records of one batch without making objects of them.

`compiled_scanner` does it in C, `python_scanner` in Python. Both give the same answers, and the tests hold them against
each other; `load_scanner` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from raft.errors import DecodeError


class Outcome(IntEnum):
    """How a check of records ends; the numbers are those of `record.h`."""

    DONE = 0
    RECORD_MALFORMED = -1
    OFFSETS_DISORDERED = -2
    TIMESTAMP_OVERFLOW = -3


_REASONS = {
    Outcome.RECORD_MALFORMED: "it is malformed",
    Outcome.OFFSETS_DISORDERED: "its offset is not after the one before it and inside of the batch",
    Outcome.TIMESTAMP_OVERFLOW: "its timestamp in microseconds does not fit into 64 bits",
}


class Section(NamedTuple):
    """The records of one batch, and what its header says of them.

    Fields:
        data: holds the records, decompressed.
        start, end: where in `data` they lie; never outside.
        record_count: how many there must be.
        last_offset_delta: no record may lie further from the batch's base offset than this.
        base_timestamp_ms: what the timestamp deltas count from.
        append_time_ms: the one timestamp of all records, if `has_append_time` (LogAppendTime).
    """

    data: bytes | memoryview
    start: int
    end: int
    record_count: int
    last_offset_delta: int
    base_timestamp_ms: int
    append_time_ms: int
    has_append_time: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check has found.

    Fields:
        outcome: DONE for records that every reader can read.
        failed_record: index of the record at which the check stopped, if it failed.
        content_checksum: see `BatchHeader`; None if it was not wanted, or the check failed.
    """

    outcome: Outcome
    failed_record: int
    content_checksum: int | None

    def refusal(self) -> DecodeError:
        """Return the error for the record at which the check stopped."""
        return DecodeError(f"record {self.failed_record} of the batch: {_REASONS[self.outcome]}")


SOUND = Checked(Outcome.DONE, 0, None)
"""The result of nearly every check."""


@dataclass(frozen=True, slots=True)
class TimedRecord:
    """A record found by its time: its place in the batch, and its timestamp."""

    offset_delta: int
    timestamp_ms: int


class Scanner(Protocol):
    """The port."""

    name: str

    def check(self, section: Section, *, with_checksum: bool) -> Checked:
        """Check that every reader can read all records, and that nothing lies behind them."""
        ...

    def find_first(self, section: Section, timestamp_ms: int) -> TimedRecord | None:
        """Return the first record whose timestamp is this or later; None if there is none before a malformed one."""
        ...
