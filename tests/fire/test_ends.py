"""Reads of the ends are judged with the feeder's writes; one that is stale, or ends within a write, is found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from raft.types import Offset
from tests.fire.ends import wrong_ends
from tests.fire.feeder import FedWrite
from tests.workload.history import Read
from tests.workload.transaction_history import LoggedTransaction, MultipartWrite

FED = [
    FedWrite(first=0, count=3, row_bytes=20, invoked_ns=10, acknowledged_ns=19),
    FedWrite(first=3, count=2, row_bytes=20, invoked_ns=20),
    FedWrite(first=5, count=4, row_bytes=20, invoked_ns=30, acknowledged_ns=39),
]
VALUES = [value for write in FED for value in write.values()]
LOG = [
    *zip(map(Offset, (1, 2, 3)), VALUES[:3], strict=True),
    *zip(map(Offset, (5, 6, 8, 9)), VALUES[5:], strict=True),
]
"""The second write is not in the log; the third one has two parts, and its marker is at 11."""
WRITE = MultipartWrite(Offset(10))
PARTS = [
    LoggedTransaction(1, records=LOG[3:5], is_committed=True, end_offset=Offset(12), write=WRITE),
    LoggedTransaction(2, records=LOG[5:], is_committed=True, end_offset=Offset(12), write=WRITE),
]


def read(end: int, invoked_ns: int, answered_ns: int) -> Read:
    return Read(
        session=f"read of {end}",
        invoked_ns=invoked_ns,
        answered_ns=answered_ns,
        start_offset=Offset(0),
        end_offset=Offset(0),
        high_watermark=Offset(end),
        is_latest=True,
    )


def test_reads_that_agree_with_the_writes_are_linearizable() -> None:
    reads = [read(1, 5, 15), read(4, 20, 21), read(5, 31, 36), read(12, 37, 38), read(12, 50, 51)]

    assert [*wrong_ends(reads, PARTS, FED, LOG)] == []


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        pytest.param([read(1, 22, 23)], "returned the end 1, but appends up to 4", id="a write is missing"),
        pytest.param([read(9, 35, 36)], "within the multipart write from 5 to 12", id="half of a write is visible"),
        pytest.param([read(12, 35, 36), read(4, 37, 38)], "had returned 12 before", id="the end goes back"),
    ],
)
def test_read_that_contradicts_the_writes_is_found(reads: Sequence[Read], expected: str) -> None:
    (sentence,) = wrong_ends(reads, PARTS, FED, LOG)

    assert expected in sentence


def test_write_at_an_offset_that_a_read_had_passed_is_found() -> None:
    (sentence,) = wrong_ends([read(7, 6, 7)], [], FED[:1], LOG)

    assert sentence == "the write at row 0 is at 1, but a read had returned the end 7 before"
