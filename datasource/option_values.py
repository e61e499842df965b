"""The values of options: offsets, times, durations, numbers. Every error names option, value and what is expected."""

from __future__ import annotations

import re
import time
from enum import Enum

from raft.config.values import at_least, refuse

_LAST_MS = (1 << 63) - 1
_UNITS_MS = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
    **dict.fromkeys(("w", "week", "weeks"), 604_800_000),
}
_DURATION = re.compile(r"(?P<count>[0-9]{1,15})\s*(?P<unit>[a-z]*)")
_FROM_END = re.compile(r"-[1-9][0-9]{0,17}")


class NamedOffset(Enum):
    """The start or the end of the log."""

    EARLIEST = "earliest"
    LATEST = "latest"


class View(Enum):
    """Which records a read has."""

    LOG = "log"
    LATEST = "latest"


class ReadColumns(Enum):
    """What becomes of the columns that only a read has, if a DataFrame with them is written."""

    REFUSE = "refuse"
    DROP = "drop"
    KEEP_TIMESTAMPS = "keepTimestamps"


Bound = NamedOffset | int
"""The start or end of a read: a place, or an offset; as a start, -n means n rows before the end of the log."""


def timestamp(name: str, value: str) -> int:
    """Parse a time: milliseconds since 1970, or a duration before now, as "-10 minutes"."""
    if is_relative(value):
        duration_ms = _duration_ms(value[1:])
        if duration_ms is not None and not value[1:].strip().isdecimal():
            return max(int(time.time() * 1000) - duration_ms, 0)
    elif value.isdecimal():
        return at_least(0, at_most=_LAST_MS)(name, value)
    raise refuse(name, value, 'milliseconds since 1970, or a duration before now such as "-10 minutes"')


def is_relative(value: str) -> bool:
    """Whether a time is relative to now."""
    return value.strip().startswith("-")


def duration_ms(name: str, value: str) -> int:
    """Parse a duration with a unit; a number without one is milliseconds, as in Spark."""
    parsed = _duration_ms(value)
    if parsed is None:
        raise refuse(name, value, 'a duration such as "30s", "15m" or "2 hours"')
    return parsed


def _duration_ms(value: str) -> int | None:
    match = _DURATION.fullmatch(value.strip().lower())
    if match is None or match["unit"] not in (*_UNITS_MS, ""):
        return None
    return int(match["count"]) * _UNITS_MS.get(match["unit"], 1)


def not_empty(name: str, value: str) -> str:
    """Return the value, which must not be empty."""
    if not value:
        raise refuse(name, value, "a text that is not empty")
    return value


def starting_offsets(name: str, value: str) -> Bound:
    """Parse the start of a read."""
    if _FROM_END.fullmatch(value):
        return int(value)
    return _bound(name, value, (NamedOffset.EARLIEST, NamedOffset.LATEST), "an offset, or -n for n rows before the end")


def ending_offsets(name: str, value: str) -> Bound:
    """Parse the end of a batch read."""
    return _bound(name, value, (NamedOffset.LATEST,), "an offset of 0 or more")


def _bound(name: str, value: str, places: tuple[NamedOffset, ...], numbers: str) -> Bound:
    for place in places:
        if value.lower() == place.value:
            return place
    if value.isdecimal():
        return int(value)
    raise refuse(name, value, f"{', '.join(place.value for place in places)} or {numbers}")


def strategy(name: str, value: str) -> bool:
    """Parse what to do if no record has the starting timestamp: whether to start at the end."""
    if value.lower() not in ("error", "latest"):
        raise refuse(name, value, "error or latest")
    return value.lower() == "latest"
