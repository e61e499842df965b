"""What readers of committed transactions see of a log, and what no leader may have written."""

from __future__ import annotations

import pytest

from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.control import leader_change_batch, write_commit_batch
from raft.records.control_key import write_control_key
from raft.records.header_fields import with_base_offset_and_epoch
from raft.records.record import Record
from raft.types import Batch, ControlType, Epoch, NodeId, Offset, WriteCommit, WritePart
from raft.writers import WriteKey
from tests.workload.visible_log import VisibleLog

KEY = WriteKey("a query", 3)
PART, OTHER_PART = (KEY.write_id.part_producer_id(number) for number in (1, 2))
PRODUCER = 7

COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def plain(*values: bytes) -> bytes:
    return build_batch([Record(value=value) for value in values])


def part_of(producer_id: int, *values: bytes) -> bytes:
    """A batch of a transaction."""
    records = [Record(value=value) for value in values]
    return build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)


def marker(end: ControlType, producer_id: int) -> bytes:
    record = Record(key=write_control_key(end), value=bytes(6))
    return build_batch([record], producer_id=producer_id, producer_epoch=0, is_control=True, is_transactional=True)


def write_commit(*parts: tuple[int, int]) -> bytes:
    """A WRITE_COMMIT; each part with its number of records."""
    commit = WriteCommit(
        parts=tuple(
            WritePart(producer_id=producer_id, record_count=count, content_checksum=0) for producer_id, count in parts
        )
    )
    return write_commit_batch(commit, producer_id=KEY.producer_id, producer_epoch=0, base_sequence=3, timestamp_ms=1)


def log_of(*payloads: bytes) -> list[Batch]:
    """A log that begins with these batches."""
    content, offset = b"", 0
    for payload in payloads:
        content += with_base_offset_and_epoch(payload, Offset(offset), Epoch(1))
        batch, *_ = read_batches(payload)
        offset += batch.header.record_count
    return list(read_batches(content))


def test_records_without_a_transaction_or_of_a_committed_one_are_visible_in_order() -> None:
    first = leader_change_batch(
        base_offset=Offset(0), epoch=Epoch(1), leader_id=NodeId(1), voters=(), granting_voters=(), timestamp_ms=1
    )
    log = log_of(
        first,
        part_of(PRODUCER, b"A", b"B"),
        plain(b"C"),
        part_of(8, b"aborted"),
        marker(ABORT, 8),
        marker(COMMIT, PRODUCER),
        part_of(PRODUCER, b"open"),
    )

    visible = VisibleLog.of(log)

    assert visible.records == [(1, b"A"), (2, b"B"), (3, b"C")]
    assert [(each.first_offset, each.is_committed, each.end_offset) for each in visible.transactions] == [
        (4, False, 6),
        (1, True, 7),
        (7, False, None),
    ]
    assert not any(each.is_part for each in visible.transactions)
    assert not visible.complaints


def test_parts_of_a_write_end_together_with_the_last_marker() -> None:
    parts = part_of(PART, b"A"), part_of(OTHER_PART, b"B", b"C")
    ends = marker(COMMIT, PART), marker(COMMIT, OTHER_PART)

    visible = VisibleLog.of(log_of(*parts, write_commit((PART, 1), (OTHER_PART, 2)), *ends))

    assert visible.records == [(0, b"A"), (1, b"B"), (2, b"C")]
    assert [(each.end_offset, each.is_part) for each in visible.transactions] == [(6, True), (6, True)]
    assert not visible.complaints


def test_write_without_its_last_marker_has_not_ended() -> None:
    parts = part_of(PART, b"A"), part_of(OTHER_PART, b"B")

    visible = VisibleLog.of(log_of(*parts, write_commit((PART, 1), (OTHER_PART, 1)), marker(COMMIT, PART)))

    assert [each.end_offset for each in visible.transactions] == [None, None]
    assert "without markers" in visible.complaints[0]


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        pytest.param(
            [part_of(PART, b"A"), write_commit((PART, 1), (OTHER_PART, 1)), marker(COMMIT, PART)],
            "names 2 parts, of which 1 are whole",
            id="a part is missing",
        ),
        pytest.param(
            [part_of(PART, b"A"), write_commit((PART, 2)), marker(COMMIT, PART)],
            "names 1 parts, of which 0 are whole",
            id="a record is missing",
        ),
        pytest.param(
            [part_of(PART, b"A"), write_commit((PART, 1)), marker(ABORT, PART)],
            "ABORT at 2 for a part that a WRITE_COMMIT names",
            id="a part is aborted after its commit",
        ),
    ],
)
def test_log_that_no_leader_may_write_is_reported(log: list[bytes], complaint: str) -> None:
    (found,) = VisibleLog.of(log_of(*log)).complaints

    assert complaint in found


def test_marker_without_a_transaction_ends_nothing() -> None:
    visible = VisibleLog.of(log_of(marker(ABORT, PRODUCER), part_of(PRODUCER, b"A"), marker(COMMIT, PRODUCER)))

    assert visible.records == [(1, b"A")]
