"""The writes of a log are those that its keys, commits and markers say."""

from __future__ import annotations

import pytest

from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.control import leader_change_batch, leaders_control_batch, write_commit_batch
from raft.records.header import read_header
from raft.records.header_fields import with_base_offset_and_epoch
from raft.records.record import Record
from raft.types import (
    FIRST_PART_PRODUCER_ID,
    Batch,
    BatchHeader,
    ControlType,
    Epoch,
    NodeId,
    Offset,
    WriteCommit,
    WritePart,
)
from raft.writers import WriteKey
from tests.fire.logged_writes import LoggedWrites

KEY, NEXT = WriteKey("query", 1), WriteKey("query", 2)
PART, TWIN = FIRST_PART_PRODUCER_ID + 1, FIRST_PART_PRODUCER_ID + 2


def keyed(key: WriteKey, *values: bytes) -> bytes:
    return build_batch(
        [Record(value=value) for value in values],
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
    )


def of_part(producer_id: int, *values: bytes) -> bytes:
    records = [Record(value=value) for value in values]
    return build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)


def commit(key: WriteKey, *parts: tuple[int, int]) -> bytes:
    named = tuple(WritePart(producer_id=each, record_count=count, content_checksum=0) for each, count in parts)
    return write_commit_batch(
        WriteCommit(parts=named),
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
        timestamp_ms=0,
    )


def marker(producer_id: int, control_type: ControlType) -> bytes:
    header = BatchHeader(
        base_offset=Offset(0),
        last_offset=Offset(0),
        epoch=Epoch(1),
        size_bytes=0,
        record_count=1,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        control_types=(control_type,),
    )
    return leaders_control_batch(header, timestamp_ms=0)


def leader_change() -> bytes:
    return leader_change_batch(
        base_offset=Offset(0),
        epoch=Epoch(1),
        leader_id=NodeId(1),
        voters=[NodeId(1)],
        granting_voters=[NodeId(1)],
        timestamp_ms=0,
    )


def logged(*payloads: bytes) -> list[Batch]:
    """Return these batches with the offsets of a log."""
    batches: list[Batch] = []
    end = Offset(0)
    for payload in payloads:
        batches += list(read_batches(with_base_offset_and_epoch(payload, end, Epoch(1))))
        end = read_header(batches[-1].payload).end_offset
    return batches


def test_log_has_single_batches_multipart_writes_and_aborted_parts() -> None:
    log = LoggedWrites.of(
        logged(
            leader_change(),
            of_part(PART, b"a", b"b"),
            of_part(TWIN, b"a"),
            of_part(PART, b"c"),
            commit(KEY, (PART, 3)),
            marker(TWIN, ControlType.ABORT),
            marker(PART, ControlType.COMMIT),
            keyed(NEXT, b"d"),
        )
    )

    assert log.rows == [(1, b"a"), (2, b"b"), (4, b"c"), (8, b"d")]
    assert [write.key for write in log.writes] == [KEY.write_id, NEXT.write_id]
    assert (log.multipart_writes, log.single_batches) == (1, 1)
    assert (log.aborted_parts, log.aborted_rows) == (1, 1)
    assert not log.complaints


@pytest.mark.parametrize(
    ("payloads", "complaints"),
    [
        pytest.param([build_batch([Record(value=b"a")])], ["the batch at 0 has no key"], id="no producer"),
        pytest.param(
            [build_batch([Record(value=b"a")], producer_id=7, producer_epoch=0, base_sequence=0)],
            ["the batch at 0 has no key"],
            id="a producer of Kafka",
        ),
        pytest.param([of_part(PART, b"a")], [f"part {PART} is neither committed nor aborted"], id="an open part"),
        pytest.param(
            [of_part(PART, b"a"), commit(KEY, (PART, 2)), marker(PART, ControlType.COMMIT)],
            ["WRITE_COMMIT at 1 names 2 rows, and the log has 1"],
            id="rows of a part are missing",
        ),
        pytest.param(
            [of_part(PART, b"a"), marker(PART, ControlType.COMMIT)],
            ["the marker at 1 contradicts the commits before it"],
            id="a part is committed without its write",
        ),
        pytest.param(
            [of_part(PART, b"a"), commit(KEY, (PART, 1)), marker(PART, ControlType.ABORT)],
            ["the marker at 2 contradicts the commits before it"],
            id="a part of a committed write is aborted",
        ),
    ],
)
def test_impossible_log_is_reported(payloads: list[bytes], complaints: list[str]) -> None:
    assert LoggedWrites.of(logged(*payloads)).complaints == complaints
