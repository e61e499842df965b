"""What clients saw: each append, transaction, read and plan, with the times of its request and its response.

All times are nanoseconds of this process's monotonic clock, so that those of two clients can be compared.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
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
        high_watermark: the last stable offset, as the response has it; None if it has none, or is of a reader.
        is_latest: whether a leader has confirmed the last stable offset (READ-1), so that it cannot be an old one.
        is_of_reader: whether a node that does not lead has sent the records (READ-4).
    """

    session: str
    invoked_ns: int
    answered_ns: int
    start_offset: Offset
    end_offset: Offset
    records: tuple[LoggedValue, ...] = ()
    high_watermark: Offset | None = None
    is_latest: bool = False
    is_of_reader: bool = False

    @property
    def reached_offset(self) -> Offset:
        """The offset that it knows to be stable, or has read."""
        return max(self.end_offset, self.high_watermark or Offset(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One client's attempt at a transaction of a producer, or at a multipart write: all of its values appear, or none.

    Two attempts at one multipart write have the same values.

    Fields:
        client: its name.
        values: in the order of the requests; for a multipart write those of one task after the other.
        task_sizes: how many values each task of a multipart write has; a transaction has one task.
        begun_ns: before its first request was sent.
        wants_commit: whether its commit was requested.
        end_requested_ns: before its end was requested, by a commit, an abort, or the next instance of its producer;
            None if it was left open.
        acknowledged_ns: after the end was acknowledged; None if it was not.
        timeout_ms: the leader does not abort it earlier by itself.
    """

    client: str
    values: tuple[bytes, ...]
    task_sizes: tuple[int, ...]
    begun_ns: int
    wants_commit: bool
    end_requested_ns: int | None = None
    acknowledged_ns: int | None = None
    timeout_ms: int

    @property
    def tasks(self) -> list[tuple[bytes, ...]]:
        """The values of each task."""
        ends = list(accumulate(self.task_sizes))
        return [self.values[start:end] for start, end in pairwise((0, *ends))]

    @property
    def appends(self) -> list[Append]:
        """An append for each value; acknowledged if the transaction is committed."""
        acknowledged_ns = self.acknowledged_ns if self.wants_commit else None
        return [
            Append(client=self.client, value=value, invoked_ns=self.begun_ns, acknowledged_ns=acknowledged_ns)
            for value in self.values
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One batch that a stream has planned.

    Fields:
        client: the name of the stream.
        start_offset, end_offset: its bounds.
        max_rows: most records that it may have; None for any number.
        max_bytes: its largest size as it is stored, unless it is a single record batch; None for any.
    """

    client: str
    start_offset: Offset
    end_offset: Offset
    max_rows: int | None = None
    max_bytes: int | None = None


class History:
    """What all clients of one run did and saw. Each client adds its own, from any thread."""

    def __init__(self) -> None:
        self.appends: list[Append] = []
        self.transactions: list[Transaction] = []
        self.reads: list[Read] = []
        self.plans: list[Plan] = []
        self.complaints: list[str] = []
        self.acknowledged_count = 0
        self._is_counting = threading.Lock()

    def appended(self, append: Append) -> None:
        """Add an attempt that has ended, whether its outcome is known or not."""
        self.appends.append(append)
        if append.acknowledged_ns is not None:
            with self._is_counting:
                self.acknowledged_count += 1

    def transacted(self, transaction: Transaction) -> None:
        """Add an attempt at a transaction or a multipart write that is over."""
        self.transactions.append(transaction)
        if transaction.wants_commit and transaction.acknowledged_ns is not None:
            with self._is_counting:
                self.acknowledged_count += len(transaction.values)

    @property
    def all_appends(self) -> list[Append]:
        """The appends, and those of the transactions."""
        return [*self.appends, *(append for transaction in self.transactions for append in transaction.appends)]

    def read(self, read: Read) -> None:
        """Add a read."""
        self.reads.append(read)

    def planned(self, plan: Plan) -> None:
        """Add a batch that was planned."""
        self.plans.append(plan)

    def complain(self, client: str, error: BaseException) -> None:
        """Add an error that ended a client, and that no fault explains."""
        self.complaints.append(f"{client} ended with {type(error).__name__}: {error}")

    def save(self, path: Path) -> None:
        """Write a line of JSON for each append, transaction, read and plan."""
        with path.open("w") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in self._lines())

    def _lines(self) -> Iterable[dict[str, object]]:
        lines: list[Append | Transaction | Read | Plan] = [*self.appends, *self.transactions, *self.reads, *self.plans]
        for line in lines:
            yield {field.name: _plain(getattr(line, field.name)) for field in fields(line)}


def now_ns() -> int:
    """Return the time on the clock of all histories."""
    return time.monotonic_ns()


def _plain(field: object) -> object:
    if isinstance(field, bytes):
        return field.decode()
    return [_plain(each) for each in field] if isinstance(field, tuple) else field
