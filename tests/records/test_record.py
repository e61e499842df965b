from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.records.record import Record, read_records_section, write_record
from raft.records.varint import write_varint
from raft.types import Offset
from tests.records.samples import RICH


def read(section: bytes, *, count: int = 1, last_delta: int = 0, base_ms: int = 0) -> list[Record]:
    return list(
        read_records_section(
            section,
            record_count=count,
            base_offset=Offset(100),
            last_offset_delta=last_delta,
            base_timestamp_ms=base_ms,
            append_time_ms=None,
        )
    )


def body(*parts: bytes) -> bytes:
    whole = b"".join(parts)
    return write_varint(len(whole)) + whole


ZERO = b"\x00"
NULL = b"\x01"


@pytest.mark.rule("LOG-3")
@pytest.mark.parametrize("record", RICH, ids=["full", "empty value", "null value", "long"])
def test_record_is_unchanged_when_read(record: Record) -> None:
    section = write_record(record, offset_delta=0, base_timestamp_ms=1_700_000_000_000)

    assert read(section, base_ms=1_700_000_000_000) == [replace(record, offset=Offset(100))]


@pytest.mark.rule("LOG-3")
def test_record_has_kafka_bytes_when_written() -> None:
    record = Record(key=b"k", value=None, headers=(("h", b"x"),), timestamp_ms=7)

    section = write_record(record, offset_delta=3, base_timestamp_ms=5)

    # length 11; attributes; timestamp +2; offset +3; key of 1; null value; 1 header: key of 1, value of 1
    assert section.hex(" ") == "16 00 04 06 02 6b 01 02 02 68 02 78"


def test_reader_skips_one_byte_of_attributes_when_its_top_bit_is_set() -> None:
    # A varint would also take the byte after it.
    section = body(b"\xff", ZERO, ZERO, NULL, write_varint(1), b"v", ZERO)

    assert read(section) == [Record(value=b"v", timestamp_ms=0, offset=Offset(100))]


def test_reader_replaces_invalid_bytes_when_a_header_key_is_not_utf8() -> None:
    section = body(ZERO, ZERO, ZERO, NULL, NULL, write_varint(1), write_varint(2), b"a\xff", NULL)

    assert read(section)[0].headers == (("a\ufffd", None),)


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(write_varint(0), id="length zero"),
        pytest.param(write_varint(-3), id="negative length"),
        pytest.param(write_varint(50) + ZERO * 6, id="length beyond the section"),
        pytest.param(body(ZERO, ZERO, ZERO, write_varint(9), NULL, ZERO), id="key beyond the record"),
        pytest.param(body(ZERO, ZERO, ZERO, write_varint(-2), NULL, ZERO), id="key length -2"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, write_varint(9), ZERO), id="value beyond the record"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, NULL, write_varint(-1)), id="negative header count"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, NULL, write_varint(2**31 - 1)), id="two billion headers"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, NULL, write_varint(1), NULL, NULL), id="header without key"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, NULL, ZERO, b"x"), id="byte behind the headers"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, NULL), id="header count missing"),
        pytest.param(body(ZERO, ZERO, ZERO, NULL, NULL, ZERO) + b"x", id="byte behind the last record"),
        pytest.param(body(ZERO, ZERO, write_varint(1), NULL, NULL, ZERO), id="offset beyond the batch"),
        pytest.param(body(ZERO, ZERO, write_varint(-1), NULL, NULL, ZERO), id="negative offset delta"),
        pytest.param(body(ZERO, b"\xff" * 10, NULL, NULL, ZERO), id="timestamp of eleven bytes"),
    ],
)
def test_reader_refuses_record_when_form_is_broken(section: bytes) -> None:
    with pytest.raises(DecodeError):
        read(section)


def test_reader_refuses_records_when_offsets_do_not_rise() -> None:
    twice = write_record(Record(value=b"v"), offset_delta=0, base_timestamp_ms=0) * 2

    with pytest.raises(DecodeError, match="offset delta 0, expected one after 0"):
        read(twice, count=2, last_delta=1)


@given(st.binary(max_size=60), st.integers(-1, 5), st.integers(0, 5))
def test_reader_raises_only_decode_error_when_bytes_are_random(section: bytes, count: int, last_delta: int) -> None:
    try:
        records = read(section, count=count, last_delta=last_delta)
    except DecodeError:
        return
    assert len(records) == max(count, 0)


def test_reader_never_reads_past_end_when_truncated_at_every_byte() -> None:
    section = b"".join(
        write_record(record, offset_delta=delta, base_timestamp_ms=0) for delta, record in enumerate(RICH[:3])
    )
    assert len(read(section, count=3, last_delta=2)) == 3

    for length in range(len(section)):
        with pytest.raises(DecodeError):
            read(section[:length], count=3, last_delta=2)
