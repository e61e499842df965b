"""Sections of records for tests of scanners: made of records, of raw bytes, and of changed ones."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from raft.records.record import Record, write_record
from raft.records.scanner import Section

NOW_MS = 1_700_000_000_000
EDGE_BYTES = (0x00, 0x01, 0x02, 0x03, 0x0F, 0x10, 0x7F, 0x80, 0xFE, 0xFF)
INT64_MAX = (1 << 63) - 1
EDGE_TIMES_MS = (0, NOW_MS, INT64_MAX // 1000, INT64_MAX // 1000 + 1, INT64_MAX, -INT64_MAX - 1)


def section_of_bytes(
    data: bytes,
    *,
    record_count: int,
    last_offset_delta: int | None = None,
    base_timestamp_ms: int = NOW_MS,
    append_time_ms: int | None = None,
) -> Section:
    """All of `data`, under a header that says this."""
    return Section(
        data=data,
        start=0,
        end=len(data),
        record_count=record_count,
        last_offset_delta=record_count - 1 if last_offset_delta is None else last_offset_delta,
        base_timestamp_ms=base_timestamp_ms,
        append_time_ms=append_time_ms or 0,
        has_append_time=append_time_ms is not None,
    )


def section_of_records(records: Sequence[Record], *, base_timestamp_ms: int = NOW_MS) -> Section:
    """Records at consecutive offsets."""
    data = b"".join(
        write_record(record, offset_delta=delta, base_timestamp_ms=base_timestamp_ms)
        for delta, record in enumerate(records)
    )
    return section_of_bytes(data, record_count=len(records), base_timestamp_ms=base_timestamp_ms)


def random_records(dice: Random, count: int) -> list[Record]:
    """Records of every shape."""

    def content(largest: int) -> bytes | None:
        return None if dice.random() < 0.2 else dice.randbytes(dice.randrange(largest + 1))

    return [
        Record(
            key=content(12),
            value=content(90),
            timestamp_ms=NOW_MS + dice.randrange(-100, 100_000),
            headers=tuple(("h" * dice.randrange(4), content(9)) for _ in range(dice.choice([0, 0, 1, 2]))),
        )
        for _ in range(count)
    ]


def bent(dice: Random, section: Section) -> Section:
    """The section with some of its bytes, or values of its header, changed."""
    changed = bytearray(section.data)
    match dice.randrange(6):
        case 0:
            for _ in range(dice.randrange(1, 4)):
                changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        case 1:
            for _ in range(dice.randrange(1, 6)):
                changed[dice.randrange(len(changed))] = dice.choice(EDGE_BYTES)
        case 2:
            del changed[dice.randrange(len(changed)) :]
        case 3:
            # Varints that are too long, or as long as they may be.
            at, length = dice.randrange(len(changed)), dice.randrange(1, 11)
            changed[at : at + length] = b"\xff" * (length - 1) + bytes([dice.choice(EDGE_BYTES)])
        case 4:
            section = section._replace(
                base_timestamp_ms=dice.choice(EDGE_TIMES_MS),
                append_time_ms=dice.choice(EDGE_TIMES_MS),
                has_append_time=dice.random() < 0.5,
            )
        case _:
            section = section._replace(
                record_count=max(0, section.record_count + dice.randrange(-1, 2)),
                last_offset_delta=max(0, section.last_offset_delta + dice.randrange(-1, 2)),
            )
    return section._replace(data=bytes(changed), end=len(changed))
