"""What clients saw: each append and each read, with the times of its request and its response.

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
"""The offset and the value of a data record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One client's attempt to append one value.

    Fields:
        client: its name; the attempts of a client are in the order in which it made them.
        value: no other append has it, unless two clients do the same keyed write.
        invoked_ns: before the request was sent.
        acknowledged_ns: after the acknowledgement was received; None if there was none: the value may be in the log or
            not.
        offset: as the acknowledgement has it; None if it has none, or there was none.
    """

    client: str
    value: bytes
    invoked_ns: int
    acknowledged_ns: int | None = None
    offset: Offset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One response to one reader.

    Fields:
        session: the reader's session, which remembers the leaders it has seen.
        invoked_ns, answered_ns: before the request was sent; after the response was received.
        start_offset, end_offset: the range that was read; empty if they are equal.
        records: the data records in that range.
        high_watermark: as the response has it; None if it has none.
    """

    session: str
    invoked_ns: int
    answered_ns: int
    start_offset: Offset
    end_offset: Offset
    records: tuple[LoggedValue, ...] = ()
    high_watermark: Offset | None = None


class History:
    """The appends and reads of all clients of one run. Each client adds its own, from any thread."""

    def __init__(self) -> None:
        self.appends: list[Append] = []
        self.reads: list[Read] = []
        self.complaints: list[str] = []
        self.acknowledged_count = 0
        self._is_counting = threading.Lock()

    def appended(self, append: Append) -> None:
        """Add an attempt that has ended, whether its outcome is known or not."""
        self.appends.append(append)
        if append.acknowledged_ns is not None:
            with self._is_counting:
                self.acknowledged_count += 1

    def read(self, read: Read) -> None:
        """Add a read."""
        self.reads.append(read)

    def complain(self, client: str, error: BaseException) -> None:
        """Add an error that ended a client, and that no fault explains."""
        self.complaints.append(f"{client} ended with {type(error).__name__}: {error}")

    def save(self, path: Path) -> None:
        """Write a line of JSON for each append and read."""
        with path.open("w") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in self._lines())

    def _lines(self) -> Iterable[dict[str, object]]:
        for append in self.appends:
            yield {name: _plain(getattr(append, name)) for name in Append.__slots__}
        for read in self.reads:
            yield {name: _plain(getattr(read, name)) for name in Read.__slots__}


def now_ns() -> int:
    """Return the time on the clock of all histories."""
    return time.monotonic_ns()


def _plain(field: object) -> object:
    if isinstance(field, bytes):
        return field.decode()
    if isinstance(field, tuple):
        return [(offset, value.decode()) for offset, value in field]
    return field
