"""Headers of stored batches, and counting data records by them, against a model: the list of each record's kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.records.batches import read_batches
from raft.records.control import leader_change_batch
from raft.records.header import read_header
from raft.records.header_fields import CHECKED_FROM, HEADER, MAGIC_AT, read_fields
from raft.storage import data_records
from raft.storage.log import Log
from raft.types import Batch, Epoch, NodeId, Offset
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batch, batches, found_end_of_data, open_log

epochs = st.lists(st.tuples(st.integers(1, 2), st.lists(st.integers(1, 4), max_size=3)), min_size=1, max_size=6)
"""Of each epoch: how many control batches begin it, and how many records each data batch has."""


def control_batch(offset: Offset, epoch: int) -> Batch:
    payload = leader_change_batch(
        base_offset=offset, epoch=Epoch(epoch), leader_id=NodeId(1), voters=(), granting_voters=(), timestamp_ms=0
    )
    (found,) = list(read_batches(payload))
    return found


def log_of(parts: list[tuple[int, list[int]]], *, tail_bytes: int = 4 << 20) -> tuple[Log, list[bool]]:
    """A log, and of each of its records whether it is data."""
    log = open_log(MemoryFiles(), tail_bytes=tail_bytes, segment_bytes=300)
    is_data: list[bool] = []
    for epoch, (control_batches, sizes) in enumerate(parts, start=1):
        for _ in range(control_batches):
            log.append([control_batch(log.end_offset, epoch)])
            is_data.append(False)
        log.append(batches(sizes, start=log.end_offset, epoch=epoch))
        is_data += [True] * sum(sizes)
    return log, is_data


def counted(is_data: list[bool], *, start: int, most: int, end: int) -> int:
    """Where a count ends, record by record."""
    at = start
    while at < end and (most or not is_data[at]):
        most -= is_data[at]
        at += 1
    return at


@given(epochs, st.data())
def test_data_records_are_counted_from_any_offset(parts: list[tuple[int, list[int]]], data: st.DataObject) -> None:
    log, is_data = log_of(parts)
    start = data.draw(st.integers(0, len(is_data) - 1), label="start")
    end = data.draw(st.integers(start + 1, len(is_data)), label="end")
    most = data.draw(st.integers(1, len(is_data) + 1), label="most")

    found = found_end_of_data(log, start_offset=Offset(start), max_records=most, end_offset=Offset(end))

    assert found == counted(is_data, start=start, most=most, end=end)


def test_count_ends_early_after_many_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_records, "MAX_EPOCHS", 3)
    log, _ = log_of([(1, [2])] * 5)

    ends = [
        found_end_of_data(log, start_offset=Offset(start), max_records=100, end_offset=log.end_offset)
        for start in (0, 9)
    ]

    assert ends == [9, 15]


@pytest.mark.parametrize("tail_bytes", [0, 4 << 20], ids=["from the files", "from memory"])
def test_header_is_that_of_the_batch_that_holds_the_offset(tail_bytes: int) -> None:
    log, _ = log_of([(1, [3, 1]), (1, [2])], tail_bytes=tail_bytes)
    stored = [log.read(Offset(at), max_bytes=1, end_offset=log.end_offset) for at in range(log.end_offset)]

    for at, payload in enumerate(stored):
        found, header = log.header_of(Offset(at)), read_header(payload)
        assert (found.end_offset, found.epoch, found.is_control) == (
            header.end_offset,
            header.epoch,
            header.is_control,
        )
        assert payload[CHECKED_FROM - 4 : CHECKED_FROM] == found.checksum.to_bytes(4, "big")


@pytest.mark.parametrize("size_bytes", range(HEADER.size))
def test_header_that_is_incomplete_is_none(size_bytes: int) -> None:
    with pytest.raises(DecodeError, match=f"batch header of {size_bytes} bytes"):
        read_fields(batch(0).payload[:size_bytes])


def test_header_of_another_magic_is_none() -> None:
    payload = bytearray(batch(0).payload)
    payload[MAGIC_AT] = 1

    with pytest.raises(DecodeError, match="magic 1, expected 2"):
        read_fields(bytes(payload))
