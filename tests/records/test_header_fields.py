"""The header of a stored batch says what `read_header` says of the whole batch."""

from __future__ import annotations

import pytest

from raft.errors import DecodeError
from raft.records.batch import build_batch
from raft.records.control import leader_change_batch, write_commit_batch
from raft.records.header import read_header
from raft.records.header_fields import HEADER, read_fields
from raft.records.record import Record
from raft.types import Epoch, NodeId, Offset, WriteCommit, WritePart
from tests.records.samples import RICH, with_field

PLAIN = build_batch(RICH, base_offset=Offset(500), epoch=Epoch(7))
TRANSACTIONAL = build_batch(
    [Record(value=b"row")], producer_id=7, producer_epoch=2, base_sequence=9, is_transactional=True
)
LEADER_CHANGE = leader_change_batch(
    base_offset=Offset(3), epoch=Epoch(4), leader_id=NodeId(1), voters=[], granting_voters=[], timestamp_ms=5
)
COMMIT = write_commit_batch(
    WriteCommit(parts=(WritePart(producer_id=1 << 61, record_count=2, content_checksum=9),)),
    producer_id=1 << 62,
    producer_epoch=0,
    base_sequence=3,
    timestamp_ms=5,
)


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(TRANSACTIONAL, id="transactional"),
        pytest.param(LEADER_CHANGE, id="a LeaderChange"),
        pytest.param(COMMIT, id="a WRITE_COMMIT"),
    ],
)
def test_stored_header_needs_no_more_than_the_first_61_bytes(batch: bytes) -> None:
    header = read_header(batch)

    stored = read_fields(b"abc" + batch[: HEADER.size], 3)

    assert (stored.base_offset, stored.end_offset) == (header.base_offset, header.end_offset)
    assert (stored.size_bytes, stored.epoch) == (len(batch), header.epoch)
    assert stored.checksum == int.from_bytes(batch[17:21], "big")
    assert (stored.is_control, stored.is_transactional) == (header.is_control, header.is_transactional)
    assert stored.producer_id == (-1 if header.producer_id is None else header.producer_id)


@pytest.mark.parametrize("size_bytes", range(HEADER.size))
def test_stored_header_is_refused_when_it_ends_early(size_bytes: int) -> None:
    with pytest.raises(DecodeError, match=f"batch header of {size_bytes} bytes, expected 61"):
        read_fields(PLAIN[:size_bytes])


@pytest.mark.parametrize(
    ("position", "form", "value", "reason"),
    [
        pytest.param(16, ">b", 1, "magic 1, expected 2", id="older magic"),
        pytest.param(8, ">i", 48, "batch of 60 bytes", id="smaller than a header"),
        pytest.param(8, ">i", -13, "batch of -1 bytes", id="negative length"),
        pytest.param(23, ">i", -1, "last offset delta -1", id="negative last offset delta"),
    ],
)
@pytest.mark.rule("LOG-1")
def test_stored_header_is_refused_when_a_number_is_impossible(
    position: int, form: str, value: int, reason: str
) -> None:
    with pytest.raises(DecodeError, match=reason):
        read_fields(with_field(PLAIN, position, form, value))
