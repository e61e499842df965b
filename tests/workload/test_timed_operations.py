"""What a read of a last stable offset may miss."""

from __future__ import annotations

import pytest

from raft.types import Offset
from tests.workload.history import Read
from tests.workload.timed_operations import timed_reads
from tests.workload.transaction_history import LoggedTransaction, MultipartWrite


def transaction(first: int, *, end: int | None, is_part: bool = False) -> LoggedTransaction:
    return LoggedTransaction(
        producer_id=first,
        records=[(Offset(first), b"value")],
        is_committed=True,
        end_offset=None if end is None else Offset(end),
        write=MultipartWrite(Offset(0)) if is_part else None,
    )


def hidden_to(stable: int, *transactions: LoggedTransaction) -> int:
    """What a read misses that returns a last stable offset."""
    read = Read(
        session="latest",
        start_offset=Offset(0),
        end_offset=Offset(0),
        invoked_ns=0,
        answered_ns=1,
        high_watermark=Offset(stable),
        is_latest=True,
    )
    (timed,) = timed_reads([read], transactions)
    return timed.hidden_to


@pytest.mark.rule("TXN-1", "TXN-2")
@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        pytest.param([], 4, id="nothing is open"),
        pytest.param([transaction(2, end=9)], 4, id="the transaction does not begin there"),
        pytest.param([transaction(4, end=9)], 8, id="a transaction"),
        pytest.param(
            [transaction(4, end=9), transaction(6, end=20)], 8, id="another that began within it does not count"
        ),
        pytest.param(
            [transaction(4, end=9, is_part=True), transaction(6, end=20, is_part=True)],
            19,
            id="a multipart write, and another that began within it",
        ),
        pytest.param(
            [
                transaction(4, end=9, is_part=True),
                transaction(6, end=20, is_part=True),
                transaction(19, end=31, is_part=True),
                transaction(31, end=40, is_part=True),
            ],
            30,
            id="writes that overlap without a gap",
        ),
    ],
)
def test_read_misses_what_is_before_the_marker_that_its_stable_offset_waits_for(
    transactions: list[LoggedTransaction], expected: int
) -> None:
    assert hidden_to(4, *transactions) == expected


@pytest.mark.rule("TXN-1")
def test_read_at_the_begin_of_a_transaction_that_never_ends_misses_everything_behind_it() -> None:
    assert hidden_to(4, transaction(4, end=None)) > 1 << 60
