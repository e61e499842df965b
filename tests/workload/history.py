"""What clients saw: each append and each read, from when it was asked for to when it was answered.

All times are nanoseconds of this process's monotonic clock, so that those of two clients can be compared.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from raft.types import Offset

LoggedValue = tuple[Offset, bytes]
"""A data record: where it is, and what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One client's attempt to have one value in the log.

    Fields:
        client: who asked; a client's attempts are in the order in which it made them.
        value: in no other append, unless two clients do the same keyed write.
        invoked_ns: before the request left.
        answered_ns: after the acknowledgement came; None when none came, so that the value may be in the log or not.
        offset: where it is, as the acknowledgement says; None if it does not say, or none came.
    """

    client: str
    value: bytes
    invoked_ns: int
    answered_ns: int | None = None
    offset: Offset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One answer to one reader.

    Fields:
        session: the reader's session, which remembers the leaders it has seen.
        invoked_ns, answered_ns: before the request left; after the answer came.
        start_offset, end_offset: the part of the log that the answer tells everything about; empty if they are equal.
        records: the data records in that part.
        high_watermark: the end of what is committed, as the answer says; None if it does not say.
    """

    session: str
    invoked_ns: int
    answered_ns: int
    start_offset: Offset
    end_offset: Offset
    records: tuple[LoggedValue, ...] = ()
    high_watermark: Offset | None = None


class History:
    """All that the clients of one run saw. Each adds its own, from whatever thread."""

    def __init__(self) -> None:
        self.appends: list[Append] = []
        self.reads: list[Read] = []
        self.complaints: list[str] = []
        self.acknowledged_count = 0
        self._is_counting = threading.Lock()

    def appended(self, append: Append) -> None:
        """Add an attempt whose outcome is known now, or will never be."""
        self.appends.append(append)
        if append.answered_ns is not None:
            with self._is_counting:
                self.acknowledged_count += 1

    def read(self, read: Read) -> None:
        """Add a read."""
        self.reads.append(read)

    def complain(self, client: str, error: BaseException) -> None:
        """Note an error that no fault excuses; its client goes no further."""
        self.complaints.append(f"{client} ended with {type(error).__name__}: {error}")

    def save(self, path: Path) -> None:
        """Write everything, a line of JSON for each append and read."""
        with path.open("w") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in self._lines())

    def _lines(self) -> Iterable[dict[str, object]]:
        for append in self.appends:
            yield {name: _plain(getattr(append, name)) for name in Append.__slots__}
        for read in self.reads:
            yield {name: _plain(getattr(read, name)) for name in Read.__slots__}


def now_ns() -> int:
    """The clock of all histories."""
    return time.monotonic_ns()


def _plain(field: object) -> object:
    if isinstance(field, bytes):
        return field.decode()
    if isinstance(field, tuple):
        return [(offset, value.decode()) for offset, value in field]
    return field
