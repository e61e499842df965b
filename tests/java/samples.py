"""Records of every kind that a log may have, for one program to write and another to read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import replace

from raft.records.record import Record
from raft.types import Offset

SOME_TIME_MS = 1_700_000_000_000

_KEYS = (None, b"", b"a key", "Schlüssel".encode())
_HEADERS = ((), (("first", b"1"), ("second", None), ("first", b"")))

_MINUTE_MS = 60_000
_minutes = itertools.count(1)


def later_ms() -> int:
    """Return a timestamp that is later than all in the log; each call returns one that is a minute later.

    Tests share a log, control records have timestamps too, and a leader accepts timestamps up to an hour ahead.
    """
    return time.time_ns() // 1_000_000 + next(_minutes) * _MINUTE_MS


def records_of_every_kind(count: int, name: str, *, first_timestamp_ms: int = SOME_TIME_MS) -> list[Record]:
    """Return records with each of 32 combinations of no, empty and other keys, values and headers, repeatedly.

    Args:
        count: how many.
        name: is part of their values.
        first_timestamp_ms: of the first record; each of the others is one millisecond later.
    """
    return [
        Record(
            key=_KEYS[at % 4],
            value=(None, b"", f"{name} {at}, ".encode() * 20, "Größe ∞".encode())[at // 4 % 4],
            headers=_HEADERS[at // 16 % 2],
            timestamp_ms=first_timestamp_ms + at,
        )
        for at in range(count)
    ]


def placed(records: Iterable[Record], start_offset: int) -> list[Record]:
    """Return the records with consecutive offsets."""
    return [replace(record, offset=Offset(start_offset + at)) for at, record in enumerate(records)]
