"""The values of WRITE_COMMIT and TRANSACTIONAL_ID: their bytes are stored in logs, so they must never change."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.control import (
    EndTransactionMarker,
    leaders_control_batch,
    read_control_records,
    write_commit_batch,
)
from raft.records.control_json import control_record_to_json
from raft.records.control_key import write_control_key
from raft.records.control_values import MAX_PARTS, read_control_value, write_control_value
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import (
    BatchHeader,
    ControlType,
    ControlValue,
    Epoch,
    Offset,
    TransactionalId,
    WriteCommit,
    WritePart,
)

LARGEST_INT64 = (1 << 63) - 1

parts = st.builds(
    WritePart,
    producer_id=st.integers(0, LARGEST_INT64),
    record_count=st.integers(1, LARGEST_INT64),
    content_checksum=st.integers(0, (1 << 64) - 1),
)
commits = st.builds(WriteCommit, parts=st.lists(parts, min_size=1, max_size=5).map(tuple))
transactional_ids = st.builds(
    TransactionalId,
    name=st.text(max_size=20),
    timeout_ms=st.integers(0, (1 << 31) - 1),
    previous=st.none() | st.tuples(st.integers(0, LARGEST_INT64), st.integers(0, (1 << 15) - 1)),
)

COMMIT = WriteCommit(
    parts=(
        WritePart(producer_id=0x2000000000000001, record_count=5, content_checksum=(1 << 64) - 1),
        WritePart(producer_id=0x2000000000000002, record_count=1, content_checksum=0),
    )
)
COMMIT_BYTES = bytes.fromhex(
    "0000 000000022000000000000001 0000000000000005 ffffffffffffffff2000000000000002 0000000000000001 0000000000000000"
)
ID = TransactionalId(name="ordérs", timeout_ms=60_000, previous=(7, 2))
ID_BYTES = bytes.fromhex("0000 0000ea60 0000000000000007 0002 0007 6f7264c3a97273")
ENDED_ID_BYTES = bytes.fromhex("0001 0000ea60 0000000000000007 0002 0007 6f7264c3a97273 00")
NEW_ID_BYTES = bytes.fromhex("0000 0000ea60 ffffffffffffffff ffff 0007 6f7264c3a97273")

WRITE_COMMIT, TRANSACTIONAL_ID = ControlType.WRITE_COMMIT, ControlType.TRANSACTIONAL_ID

values_and_bytes = pytest.mark.parametrize(
    ("control_type", "value", "content"),
    [
        pytest.param(WRITE_COMMIT, COMMIT, COMMIT_BYTES, id="WRITE_COMMIT"),
        pytest.param(TRANSACTIONAL_ID, ID, ID_BYTES, id="TRANSACTIONAL_ID"),
        pytest.param(TRANSACTIONAL_ID, replace(ID, previous=None), NEW_ID_BYTES, id="a new TRANSACTIONAL_ID"),
        pytest.param(
            TRANSACTIONAL_ID,
            replace(ID, last_end=ControlType.ABORT),
            ENDED_ID_BYTES,
            id="a TRANSACTIONAL_ID of a snapshot",
        ),
    ],
)


@values_and_bytes
def test_value_has_for_ever_the_bytes_with_which_it_was_first_stored(
    control_type: int, value: ControlValue, content: bytes
) -> None:
    assert write_control_value(value) == content
    assert read_control_value(control_type, content) == value


@given(commits | transactional_ids)
def test_value_is_what_it_was_when_it_is_read_again(value: ControlValue) -> None:
    control_type = WRITE_COMMIT if isinstance(value, WriteCommit) else TRANSACTIONAL_ID

    assert read_control_value(control_type, write_control_value(value)) == value


@values_and_bytes
def test_value_is_read_as_version_0_when_its_version_is_higher(
    control_type: int, value: ControlValue, content: bytes
) -> None:
    newer = struct.pack(">h", 7) + content[2:]
    if isinstance(value, TransactionalId) and value.last_end is None:
        newer, value = newer + b"\1", replace(value, last_end=ControlType.COMMIT)
    newer += b"what version 7 adds"

    assert read_control_value(control_type, newer) == value


@values_and_bytes
def test_value_is_refused_when_it_ends_early(control_type: int, value: ControlValue, content: bytes) -> None:
    for size_bytes in range(len(content)):
        with pytest.raises(DecodeError):
            read_control_value(control_type, content[:size_bytes])


def commit_bytes(*, version: int = 0, count: int = 1, parts: tuple[tuple[int, int, int], ...] = ((9, 1, 5),)) -> bytes:
    return struct.pack(">hi", version, count) + b"".join(struct.pack(">qqQ", *part) for part in parts)


def id_bytes(*, version: int = 0, timeout_ms: int = 1, size_bytes: int = 4, name: bytes = b"name") -> bytes:
    return struct.pack(">hiqhh", version, timeout_ms, 7, 2, size_bytes) + name


@pytest.mark.parametrize(
    ("control_type", "content", "reason"),
    [
        pytest.param(WRITE_COMMIT, b"", "value of WRITE_COMMIT is malformed", id="empty commit"),
        pytest.param(WRITE_COMMIT, commit_bytes(version=-1), "WRITE_COMMIT of version -1", id="commit of version -1"),
        pytest.param(WRITE_COMMIT, commit_bytes(count=0), "with 0 parts in 30 bytes", id="no parts"),
        pytest.param(WRITE_COMMIT, commit_bytes(count=-1), "with -1 parts", id="negative count"),
        pytest.param(WRITE_COMMIT, commit_bytes(count=2), "with 2 parts in 30 bytes", id="more parts than bytes"),
        pytest.param(WRITE_COMMIT, commit_bytes(count=(1 << 31) - 1), "parts in 30 bytes", id="two billion parts"),
        pytest.param(
            WRITE_COMMIT,
            commit_bytes(count=MAX_PARTS + 1, parts=((9, 1, 5),) * (MAX_PARTS + 1)),
            f"with {MAX_PARTS + 1} parts",
            id="too many parts",
        ),
        pytest.param(
            WRITE_COMMIT, commit_bytes(parts=((-1, 1, 5),)), "a part without a producer id", id="negative producer id"
        ),
        pytest.param(WRITE_COMMIT, commit_bytes(parts=((9, 0, 5),)), "without records", id="part without records"),
        pytest.param(
            WRITE_COMMIT,
            commit_bytes(count=2, parts=((9, 1, 5), (8, -4, 5))),
            "without records",
            id="negative record count of the last part",
        ),
        pytest.param(TRANSACTIONAL_ID, b"\0\0", "value of TRANSACTIONAL_ID is malformed", id="short id"),
        pytest.param(
            TRANSACTIONAL_ID, id_bytes(version=1, name=b"name\2"), "2 as the type of an end marker", id="unknown end"
        ),
        pytest.param(TRANSACTIONAL_ID, id_bytes(version=-1), "TRANSACTIONAL_ID of version -1", id="id of version -1"),
        pytest.param(TRANSACTIONAL_ID, id_bytes(timeout_ms=-1), "-1 ms", id="negative timeout"),
        pytest.param(TRANSACTIONAL_ID, id_bytes(size_bytes=-1), "-1 bytes of name", id="negative size of the name"),
        pytest.param(TRANSACTIONAL_ID, id_bytes(size_bytes=5), "5 bytes of name", id="name is too short"),
        pytest.param(TRANSACTIONAL_ID, id_bytes(name=b"\xff\xfe\xfd\xfc"), "is malformed: 'utf-8'", id="not UTF-8"),
        pytest.param(TRANSACTIONAL_ID, id_bytes(size_bytes=1, name="é".encode()), "'utf-8'", id="half a character"),
    ],
)
def test_value_is_refused_with_the_reason_when_it_is_malformed(control_type: int, content: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        read_control_value(control_type, content)

    batch = control_batch((control_type, content or b"\0"))
    with pytest.raises(DecodeError):
        read_header(batch)
    with pytest.raises(DecodeError):
        read_control_records(batch)


def test_commit_of_the_most_parts_fits_a_control_batch() -> None:
    largest = WriteCommit(parts=COMMIT.parts[:1] * MAX_PARTS)

    batch = write_commit_batch(largest, producer_id=1 << 62, producer_epoch=0, base_sequence=3, timestamp_ms=5)

    assert read_header(batch).control_value == largest


@pytest.mark.parametrize("control_type", [*(set(ControlType) - {WRITE_COMMIT, TRANSACTIONAL_ID}), 99, -1])
def test_value_of_another_type_is_not_one_of_this_project(control_type: int) -> None:
    assert read_control_value(control_type, COMMIT_BYTES) is None


# In a batch


def control_batch(*records: tuple[int, bytes], compression: Compression = Compression.NONE) -> bytes:
    return build_batch(
        [Record(key=write_control_key(control_type), value=value) for control_type, value in records],
        producer_id=7,
        producer_epoch=2,
        is_control=True,
        compression=compression,
    )


def leaders_header(control_type: ControlType, value: ControlValue | None = None) -> BatchHeader:
    return BatchHeader(
        base_offset=Offset(12),
        last_offset=Offset(12),
        epoch=Epoch(4),
        size_bytes=0,
        record_count=1,
        max_timestamp_ms=1_700_000_000_000,
        producer_id=7,
        producer_epoch=2,
        base_sequence=3,
        is_transactional=value is None,
        control_types=(control_type,),
        control_value=value,
    )


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(leaders_header(WRITE_COMMIT, COMMIT), COMMIT, id="WRITE_COMMIT"),
        pytest.param(leaders_header(TRANSACTIONAL_ID, ID), ID, id="TRANSACTIONAL_ID"),
        pytest.param(
            leaders_header(ControlType.COMMIT), EndTransactionMarker(version=0, coordinator_epoch=4), id="COMMIT"
        ),
        pytest.param(
            leaders_header(ControlType.ABORT), EndTransactionMarker(version=0, coordinator_epoch=4), id="ABORT"
        ),
    ],
)
def test_control_batch_of_a_leader_says_what_its_header_says(
    header: BatchHeader, expected: ControlValue | EndTransactionMarker
) -> None:
    batch = leaders_control_batch(header, timestamp_ms=1_700_000_000_000)

    assert read_header(batch) == replace(header, size_bytes=len(batch))
    (record,) = read_control_records(batch)
    assert (record.offset, record.timestamp_ms, record.value) == (12, 1_700_000_000_000, expected)


@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD], ids=["plain", "compressed"])
def test_header_has_the_value_of_a_commit(compression: Compression) -> None:
    batch = control_batch((WRITE_COMMIT, COMMIT_BYTES), compression=compression)

    assert read_header(batch).control_value == COMMIT


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([(WRITE_COMMIT, COMMIT_BYTES)] * 2, id="two commits"),
        pytest.param([(WRITE_COMMIT, COMMIT_BYTES), (TRANSACTIONAL_ID, ID_BYTES)], id="commit and id"),
        pytest.param([(ControlType.COMMIT, b"\0" * 6), (WRITE_COMMIT, COMMIT_BYTES)], id="commit behind a marker"),
        pytest.param([(TRANSACTIONAL_ID, ID_BYTES), (99, b"?")], id="id before an unknown type"),
    ],
)
def test_control_batch_is_refused_when_a_record_of_this_project_is_not_alone(records: list[tuple[int, bytes]]) -> None:
    with pytest.raises(DecodeError, match="in one batch: WRITE_COMMIT and others have their own batch"):
        read_header(control_batch(*records))


@pytest.mark.parametrize(
    ("content", "control_type", "expected"),
    [
        pytest.param(
            COMMIT_BYTES,
            WRITE_COMMIT,
            {
                "type": "WriteCommit",
                "parts": [
                    {"producerId": 0x2000000000000001, "recordCount": 5, "contentChecksum": "ffffffffffffffff"},
                    {"producerId": 0x2000000000000002, "recordCount": 1, "contentChecksum": "0000000000000000"},
                ],
            },
            id="WRITE_COMMIT",
        ),
        pytest.param(
            ID_BYTES,
            TRANSACTIONAL_ID,
            {"type": "TransactionalId", "name": "ordérs", "timeoutMs": 60_000, "previous": [7, 2]},
            id="TRANSACTIONAL_ID",
        ),
        pytest.param(
            NEW_ID_BYTES,
            TRANSACTIONAL_ID,
            {"type": "TransactionalId", "name": "ordérs", "timeoutMs": 60_000, "previous": None},
            id="a new TRANSACTIONAL_ID",
        ),
    ],
)
def test_control_record_is_printable(content: bytes, control_type: int, expected: dict[str, object]) -> None:
    (record,) = read_control_records(control_batch((control_type, content)))

    assert json.loads(json.dumps(control_record_to_json(record))) == expected
