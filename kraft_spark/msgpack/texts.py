"""The texts of dates, times and timestamps without a time zone, in ISO 8601.

    date               2026-11-21; years after 9999 and before 0 have a sign: +10000-01-01, -0001-01-01
    time               12:13:14.123456789, without zeros at the end of the fraction
    timestamp_ntz      2026-11-21T12:13:14.123456, likewise

Python's dates end with the year 9999. The calendar repeats every 400 years, so other years are moved by cycles.
"""

from __future__ import annotations

import datetime
import re

import pyarrow as pa
import pyarrow.compute as pc

_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
_FIRST = datetime.date.min.toordinal() - datetime.date(1970, 1, 1).toordinal()
_LAST = datetime.date.max.toordinal() - datetime.date(1970, 1, 1).toordinal()
_DAY_MICROS = 86_400_000_000

_DATE = r"([+-]?\d{4,7})-(\d\d)-(\d\d)"
_TIME = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_DATE_ONLY = re.compile(_DATE, re.ASCII)
_TIME_ONLY = re.compile(_TIME, re.ASCII)
_DATE_AND_TIME = re.compile(f"{_DATE}[T ]{_TIME}", re.ASCII)


def date_texts(days: pa.Array) -> pa.Array:
    """Return dates as text; null stays null.

    Args:
        days: since 1970, as integers.
    """
    if _is_within(days, _FIRST, _LAST):
        return days.cast(pa.date32()).cast(pa.string())
    return pa.array([None if day is None else _date_text(day) for day in days.to_pylist()], pa.string())


def timestamp_texts(micros: pa.Array) -> pa.Array:
    """Return timestamps without a zone as text; null stays null.

    Args:
        micros: since 1970, as integers.
    """
    if _is_within(micros, _FIRST * _DAY_MICROS, (_LAST + 1) * _DAY_MICROS - 1):
        texts = micros.cast(pa.timestamp("us")).cast(pa.string())
        return _without_zeros(pc.utf8_replace_slice(texts, 10, 11, "T"))
    parts = [None if micro is None else divmod(micro, _DAY_MICROS) for micro in micros.to_pylist()]
    days = date_texts(pa.array([None if part is None else part[0] for part in parts], pa.int32()))
    times = time_texts(pa.array([None if part is None else part[1] * 1_000 for part in parts], pa.int64()))
    return pc.binary_join_element_wise(days, times, "T")


def time_texts(nanoseconds: pa.Array) -> pa.Array:
    """Return times of a day as text; null stays null.

    Args:
        nanoseconds: since midnight, as integers.
    """
    return _without_zeros(nanoseconds.cast(pa.time64("ns")).cast(pa.string()))


def read_date(text: str) -> int:
    """Return the days since 1970.

    Raises:
        ValueError: it is no date, or not within Spark's 32 bits.
    """
    found = _DATE_ONLY.fullmatch(text)
    if found is None:
        # Other forms of ISO 8601, such as 20261121.
        return datetime.date.fromisoformat(text).toordinal() + _FIRST - 1
    days = _days(found)
    if not -(2**31) <= days < 2**31:
        raise ValueError(f"{text} does not fit into a date")
    return days


def read_timestamp(text: str) -> int:
    """Return the microseconds since 1970; parts of a microsecond are dropped.

    Raises:
        ValueError: it is no date with a time, has a time zone, or is not within Spark's 64 bits.
    """
    found = _DATE_AND_TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no date with a time and without a zone")
    micros = _days(found) * _DAY_MICROS + _nanoseconds(found, 4) // 1_000
    if not -(2**63) <= micros < 2**63:
        raise ValueError(f"{text} does not fit into a timestamp")
    return micros


def read_time(text: str) -> int:
    """Return the nanoseconds since midnight.

    Raises:
        ValueError: it is no time of a day.
    """
    found = _TIME_ONLY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no time of a day")
    return _nanoseconds(found, 1)


def _is_within(column: pa.Array, first: int, last: int) -> bool:
    smallest, largest = pc.min_max(column).as_py().values()
    return smallest is None or (first <= smallest and largest <= last)


def _date_text(days: int) -> str:
    cycles, rest = divmod(days - _FIRST, _CYCLE_DAYS)
    date = datetime.date.fromordinal(rest + 1)
    year = date.year + cycles * _CYCLE_YEARS
    sign = "-" if year < 0 else "+" if year > datetime.MAXYEAR else ""
    return f"{sign}{abs(year):04}-{date.month:02}-{date.day:02}"


def _days(found: re.Match[str]) -> int:
    cycles, year = divmod(int(found[1]) - 1, _CYCLE_YEARS)
    date = datetime.date(year + 1, int(found[2]), int(found[3]))
    return date.toordinal() - 1 + _FIRST + cycles * _CYCLE_DAYS


def _nanoseconds(found: re.Match[str], at: int) -> int:
    hours, minutes, seconds, fraction = found.group(at, at + 1, at + 2, at + 3)
    # Python checks the numbers.
    time = datetime.time(int(hours), int(minutes), int(seconds))
    whole = (time.hour * 60 + time.minute) * 60 + time.second
    return whole * 1_000_000_000 + int((fraction or "").ljust(9, "0"))


def _without_zeros(texts: pa.Array) -> pa.Array:
    return pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
