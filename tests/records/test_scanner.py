"""The check of the records that a leader appends, their content checksum, and the search for a time."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from raft.errors import DecodeError
from raft.native.library import Outcome
from raft.records.record import Record, read_records_section, write_record
from raft.records.scanner import Section, TimedRecord
from raft.types import Offset
from tests.oracles.murmur import murmur_hash
from tests.oracles.scanner import Scanner
from tests.records.samples import RICH
from tests.records.sections import (
    INT64_MAX,
    NOW_MS,
    bent,
    random_records,
    section_of_bytes,
    section_of_records,
)

LAST_MS = INT64_MAX // 1000
SMALLEST = bytes([12, 0, 0, 0, 1, 1, 0])
"""No key, no value, no headers."""


def record_bytes(*body: int) -> bytes:
    """A record of these bytes after its length."""
    return bytes([2 * len(body), *body])


def timed(*timestamps_ms: int) -> Section:
    return section_of_records([Record(value=b"v", timestamp_ms=ms) for ms in timestamps_ms])


# The check


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(section_of_records(RICH), id="every shape"),
        pytest.param(section_of_bytes(SMALLEST, record_count=1), id="the smallest"),
        pytest.param(section_of_bytes(b"", record_count=0, last_offset_delta=5), id="none, as compaction leaves it"),
        pytest.param(
            section_of_bytes(SMALLEST, record_count=1, base_timestamp_ms=LAST_MS), id="the last time there is"
        ),
        pytest.param(
            section_of_bytes(SMALLEST, record_count=1, base_timestamp_ms=-LAST_MS), id="the first time there is"
        ),
        pytest.param(
            section_of_bytes(SMALLEST, record_count=1, base_timestamp_ms=INT64_MAX, append_time_ms=5),
            id="append time beside nonsense",
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 0, 1, 1, 2, 4, 0xC3, 0x28, 1), record_count=1),
            id="a header key that is not UTF-8",
        ),
        pytest.param(section_of_bytes(record_bytes(7, 0, 0, 1, 1, 0), record_count=1), id="attributes of any value"),
    ],
)
@pytest.mark.rule("CLIENT-12")
def test_sound_records_pass(scanner: Scanner, section: Section) -> None:
    checked = scanner.check_records(section, with_checksum=False)

    assert (checked.outcome, checked.content_checksum) == (Outcome.DONE, None)


@pytest.mark.parametrize(
    ("section", "outcome", "failed_record"),
    [
        pytest.param(section_of_bytes(b"garbage", record_count=1), Outcome.RECORD_MALFORMED, 0, id="garbage"),
        pytest.param(section_of_bytes(b"", record_count=2), Outcome.RECORD_MALFORMED, 0, id="no records at all"),
        pytest.param(section_of_bytes(SMALLEST, record_count=2), Outcome.RECORD_MALFORMED, 1, id="one record missing"),
        pytest.param(section_of_bytes(SMALLEST + b"\0", record_count=1), Outcome.RECORD_MALFORMED, 0, id="bytes left"),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 0, 1, 1, 0, 0), record_count=1),
            Outcome.RECORD_MALFORMED,
            0,
            id="bytes left in the record",
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 0, 1, 1, 2, 1, 1), record_count=1),
            Outcome.RECORD_MALFORMED,
            0,
            id="a header without a key",
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 0, 1, 1, 1), record_count=1),
            Outcome.RECORD_MALFORMED,
            0,
            id="a negative number of headers",
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 0, 3, 1, 0), record_count=1),
            Outcome.RECORD_MALFORMED,
            0,
            id="a key of length -2",
        ),
        pytest.param(
            section_of_bytes(SMALLEST + SMALLEST, record_count=2), Outcome.OFFSETS_DISORDERED, 1, id="an offset twice"
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 2, 1, 1, 0), record_count=1),
            Outcome.OFFSETS_DISORDERED,
            0,
            id="an offset past the batch",
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 0, 1, 1, 1, 0), record_count=1),
            Outcome.OFFSETS_DISORDERED,
            0,
            id="an offset before the batch",
        ),
        pytest.param(
            section_of_bytes(SMALLEST, record_count=1, base_timestamp_ms=LAST_MS + 1),
            Outcome.TIMESTAMP_OVERFLOW,
            0,
            id="a time in nanoseconds",
        ),
        pytest.param(
            section_of_bytes(record_bytes(0, 2, 0, 1, 1, 0), record_count=1, base_timestamp_ms=INT64_MAX),
            Outcome.TIMESTAMP_OVERFLOW,
            0,
            id="a sum past int64",
        ),
        pytest.param(
            section_of_bytes(SMALLEST, record_count=1, append_time_ms=-LAST_MS - 1),
            Outcome.TIMESTAMP_OVERFLOW,
            0,
            id="an append time before all times",
        ),
    ],
)
@pytest.mark.rule("CLIENT-12")
def test_unsound_record_is_found(scanner: Scanner, section: Section, outcome: Outcome, failed_record: int) -> None:
    checked = scanner.check_records(section, with_checksum=True)

    assert (checked.outcome, checked.failed_record, checked.content_checksum) == (outcome, failed_record, None)
    assert f"record {failed_record} of the batch" in str(checked.refusal())


def test_records_are_searched_at_their_position(scanner: Scanner) -> None:
    alone = section_of_records(RICH)
    inside = alone._replace(data=b"abc" + bytes(alone.data) + b"\xff" * 9, start=3, end=3 + len(alone.data))

    assert scanner.check_records(inside, with_checksum=True) == scanner.check_records(alone, with_checksum=True)
    assert (
        scanner.check_records(inside._replace(end=inside.end - 1), with_checksum=False).outcome
        is Outcome.RECORD_MALFORMED
    )


@pytest.mark.parametrize("records", [RICH, ()], ids=["some", "none"])
def test_records_may_lie_in_a_buffer(scanner: Scanner, records: tuple[Record, ...]) -> None:
    section = section_of_records(records)

    buffered = section._replace(data=memoryview(bytearray(section.data)))

    assert scanner.check_records(buffered, with_checksum=True) == scanner.check_records(section, with_checksum=True)
    assert scanner.find_first(buffered, NOW_MS) == scanner.find_first(section, NOW_MS)


# The content checksum


def checksum_of(scanner: Scanner, *records: Record) -> int:
    checksum = scanner.check_records(section_of_records(records), with_checksum=True).content_checksum
    assert checksum is not None
    return checksum


@pytest.mark.rule("CLIENT-11")
def test_content_checksum_is_independent_of_order_and_time(scanner: Scanner) -> None:
    later = [replace(record, timestamp_ms=record.timestamp_ms + 86_400_000) for record in RICH]

    assert checksum_of(scanner, *RICH) == checksum_of(scanner, *reversed(RICH)) == checksum_of(scanner, *later)


@pytest.mark.parametrize(
    ("records", "others"),
    [
        pytest.param([Record(value=b"a")], [Record(value=b"b")], id="another value"),
        pytest.param([Record(value=b"a")], [Record(key=b"a")], id="key instead of value"),
        pytest.param([Record(value=b"")], [Record(value=None)], id="null instead of empty"),
        pytest.param([Record(key=b"ab", value=b"c")], [Record(key=b"a", value=b"bc")], id="another border"),
        pytest.param([Record(headers=(("a", b"1"),))], [Record(headers=(("a", b"2"),))], id="another header"),
        pytest.param(
            [Record(key=b"k1", value=b"v1"), Record(key=b"k2", value=b"v2")],
            [Record(key=b"k1", value=b"v2"), Record(key=b"k2", value=b"v1")],
            id="values swapped",
        ),
        pytest.param([Record(value=b"a")] * 2, [Record(value=b"a")], id="once instead of twice"),
    ],
)
@pytest.mark.rule("CLIENT-11")
def test_content_checksum_differs_for_other_rows(scanner: Scanner, records: list[Record], others: list[Record]) -> None:
    assert checksum_of(scanner, *records) != checksum_of(scanner, *others)


@pytest.mark.rule("CLIENT-11")
def test_content_checksum_is_the_sum_of_the_hashes_of_the_records(scanner: Scanner) -> None:
    record = Record(key=b"key", value=b"x" * 1000)
    content = write_record(record, offset_delta=0, base_timestamp_ms=record.timestamp_ms)[len(b"LL\0\0\0") :]

    # So many times that the sum does not fit into 64 bits.
    assert checksum_of(scanner, *[record] * 50) == 50 * murmur_hash(content) % (1 << 64)


# The search


@pytest.mark.parametrize(
    ("timestamp_ms", "found"),
    [
        pytest.param(0, TimedRecord(0, NOW_MS + 5), id="before all"),
        pytest.param(NOW_MS + 5, TimedRecord(0, NOW_MS + 5), id="the first one's"),
        pytest.param(NOW_MS + 6, TimedRecord(2, NOW_MS + 9), id="the first that is late enough"),
        pytest.param(NOW_MS + 9, TimedRecord(2, NOW_MS + 9), id="of two the first"),
        pytest.param(NOW_MS + 10, None, id="after all"),
    ],
)
def test_search_finds_the_first_record_of_a_time(
    scanner: Scanner, timestamp_ms: int, found: TimedRecord | None
) -> None:
    section = timed(NOW_MS + 5, NOW_MS + 1, NOW_MS + 9, NOW_MS + 9)

    assert scanner.find_first(section, timestamp_ms) == found


def test_search_takes_the_append_time_of_the_batch(scanner: Scanner) -> None:
    section = timed(1, 2)._replace(append_time_ms=7, has_append_time=True)

    assert scanner.find_first(section, 7) == TimedRecord(0, 7)
    assert scanner.find_first(section, 8) is None


def test_search_ends_at_a_malformed_record(scanner: Scanner) -> None:
    section = timed(NOW_MS, NOW_MS + 1)
    broken = section._replace(
        data=bytes(section.data) + b"\x7f", end=section.end + 1, record_count=3, last_offset_delta=2
    )

    assert scanner.find_first(broken, NOW_MS + 1) == TimedRecord(1, NOW_MS + 1)
    assert scanner.find_first(broken, NOW_MS + 2) is None


# Both scanners, and the reader of single records


@pytest.mark.parametrize("round_number", range(8))
def test_scanners_agree_on_any_bytes(compiled: Scanner, python: Scanner, round_number: int) -> None:
    dice = Random(f"scanners {round_number}")
    sound = 0

    for _ in range(500):
        section = bent(dice, section_of_records(random_records(dice, dice.choice([1, 2, 3, 20]))))

        checked = compiled.check_records(section, with_checksum=True)

        assert checked == python.check_records(section, with_checksum=True)
        timestamp_ms = NOW_MS + dice.randrange(-200, 110_000)
        assert compiled.find_first(section, timestamp_ms) == python.find_first(section, timestamp_ms)
        sound += checked.outcome is Outcome.DONE
        assert can_be_read(section) == (checked.outcome in (Outcome.DONE, Outcome.TIMESTAMP_OVERFLOW))

    # The test proves nothing if all of them, or none, are refused.
    assert 50 < sound < 450


def can_be_read(section: Section) -> bool:
    """Whether the reader of single records accepts it; it has no bound for timestamps."""
    try:
        records = list(
            read_records_section(
                bytes(section.data),
                record_count=section.record_count,
                base_offset=Offset(0),
                last_offset_delta=section.last_offset_delta,
                base_timestamp_ms=section.base_timestamp_ms,
                append_time_ms=section.append_time_ms if section.has_append_time else None,
            )
        )
    except DecodeError:
        return False
    return len(records) == section.record_count


# Records without a key


@pytest.mark.rule("CLIENT-12")
@pytest.mark.parametrize(
    ("keys", "index"),
    [
        pytest.param([], None, id="no record"),
        pytest.param([b"a", b"", b"k" * 200], None, id="all have one, and one is empty"),
        pytest.param([None], 0, id="the only one"),
        pytest.param([b"a", b"b", None, None], 2, id="the third"),
    ],
)
def test_first_record_without_a_key_is_found(scanner: Scanner, keys: list[bytes | None], index: int | None) -> None:
    section = section_of_records([Record(key=key, value=b"v", headers=(("h", b"x"),)) for key in keys])

    assert scanner.find_without_key(section) == index
