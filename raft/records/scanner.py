"""The interface `Scanner`: it reads the records of one batch without making objects of them.

`compiled_scanner` does it in C, `python_scanner` in Python. Both give the same results, and the tests compare them;
`load_scanner` chooses one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from raft.errors import DecodeError


class Outcome(IntEnum):
    """The outcome of a check; the numbers are those of `record.h`."""

    DONE = 0
    RECORD_MALFORMED = -1
    OFFSETS_DISORDERED = -2
    TIMESTAMP_OVERFLOW = -3


_REASONS = {
    Outcome.RECORD_MALFORMED: "it is malformed",
    Outcome.OFFSETS_DISORDERED: "its offset is not higher than the one before, or lies outside the batch",
    Outcome.TIMESTAMP_OVERFLOW: "its timestamp in microseconds does not fit into 64 bits",
}


class Section(NamedTuple):
    """The records of one batch, and the fields of its header that a scanner needs.

    Fields:
        data: has the records, decompressed.
        start, end: their position in `data`; never outside of it.
        record_count: the exact number of records.
        last_offset_delta: the highest offset delta of a record.
        base_timestamp_ms: the base of the timestamp deltas.
        append_time_ms: the timestamp of all records if `has_append_time` (LogAppendTime).
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
    """The result of a check.

    Fields:
        outcome: DONE if every reader can read the records.
        failed_record: index of the record at which the check failed.
        content_checksum: see `BatchHeader`; None if it was not asked for, or the check failed.
    """

    outcome: Outcome
    failed_record: int
    content_checksum: int | None

    def refusal(self) -> DecodeError:
        """Return the error for the record at which the check failed."""
        return DecodeError(f"record {self.failed_record} of the batch: {_REASONS[self.outcome]}")


SOUND = Checked(Outcome.DONE, 0, None)
"""The result of nearly every check."""


@dataclass(frozen=True, slots=True)
class TimedRecord:
    """A record found by its timestamp: offset delta and timestamp."""

    offset_delta: int
    timestamp_ms: int


class Scanner(Protocol):
    """Reads the records of one batch."""

    name: str

    def check(self, section: Section, *, with_checksum: bool) -> Checked:
        """Check that every reader can read all records, and that nothing lies behind them.

        Args:
            section: the records.
            with_checksum: compute the content checksum.
        """
        ...

    def find_without_key(self, section: Section) -> int | None:
        """Return the index of the first record without a key; None if all have one. The records were checked."""
        ...

    def find_first(self, section: Section, timestamp_ms: int) -> TimedRecord | None:
        """Return the first record whose timestamp is `timestamp_ms` or later; None if there is none.

        A record behind a malformed one is not found.
        """
        ...
