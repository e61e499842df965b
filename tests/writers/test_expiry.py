"""When writers are forgotten: in log time, each kind after its own time (rule CLIENT-13)."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.types import BatchHeader, Offset
from raft.writers import Accepted, Refused, Repeated, WriterExpiry, WriterTable
from raft.writers.expiry import LATEST_TIMESTAMP_MS
from tests.writers.headers import keyed, produced

DAY_MS = 86_400_000
NOW_MS = 1_700_000_000_000


def table_of(*headers: BatchHeader, newest_kept: int = 0) -> WriterTable:
    table = WriterTable(expiry=WriterExpiry(newest_kept=newest_kept))
    for header in headers:
        table.appended(header)
    return table


def passing(time_ms: int, *, at: int = 100) -> BatchHeader:
    """A batch without a writer, which moves log time to here."""
    return produced(0, by=None, at=at, time_ms=time_ms)


@pytest.mark.parametrize(
    ("write", "expiration_ms"),
    [
        pytest.param(produced(0, time_ms=NOW_MS), DAY_MS, id="idempotent producer"),
        pytest.param(keyed(0, time_ms=NOW_MS), DAY_MS, id="one-off writer"),
        pytest.param(keyed(1, time_ms=NOW_MS), 30 * DAY_MS, id="streaming query"),
    ],
)
@pytest.mark.rule("CLIENT-13")
def test_writer_is_forgotten_when_log_time_has_passed(write: BatchHeader, expiration_ms: int) -> None:
    assert isinstance(table_of(write, passing(NOW_MS + expiration_ms - 1)).judge(write), Repeated)

    assert table_of(write, passing(NOW_MS + expiration_ms)).judge(write) == Accepted()


@pytest.mark.parametrize("kept", [1, 2])
@pytest.mark.rule("CLIENT-13")
def test_newest_writers_of_each_kind_are_kept_when_log_time_leaps(kept: int) -> None:
    writes = {
        (kind, number): write
        for number in range(3)
        for kind, write in {
            "producer": produced(0, by=1 + number, at=3 * number, time_ms=0),
            "one-off": keyed(0, writer=f"one-off {number}", at=3 * number + 1, time_ms=0),
            "stream": keyed(1, writer=f"stream {number}", at=3 * number + 2, time_ms=0),
        }.items()
    }

    table = table_of(*writes.values(), passing(NOW_MS), newest_kept=kept)

    known = {which for which, write in writes.items() if isinstance(table.judge(write), Repeated)}
    assert known == {(kind, number) for kind, number in writes if number >= 3 - kept}


@pytest.mark.rule("CLIENT-13")
def test_thousand_writers_are_kept_by_default() -> None:
    table = WriterTable()
    for number in range(1_001):
        table.appended(produced(0, by=number, at=number, time_ms=0))
    table.appended(passing(NOW_MS, at=1_001))

    assert isinstance(table.judge(produced(0, by=1)), Repeated)
    assert table.judge(produced(0, by=0)) == Accepted()


@pytest.mark.rule("CLIENT-13")
def test_producer_that_is_forgotten_has_to_start_at_sequence_0() -> None:
    table = table_of(produced(0, time_ms=NOW_MS), passing(NOW_MS + DAY_MS))

    assert table.judge(produced(1)) == Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


@pytest.mark.rule("CLIENT-13")
def test_each_write_keeps_its_writer_for_longer() -> None:
    last = keyed(1, at=1, time_ms=NOW_MS + 20 * DAY_MS)
    table = table_of(keyed(0, time_ms=NOW_MS), last, passing(NOW_MS + 49 * DAY_MS))

    assert isinstance(table.judge(last), Repeated)


@pytest.mark.parametrize("time_ms", [-1, LATEST_TIMESTAMP_MS + 1, (1 << 63) - 1], ids=["none", "year 10000", "nanos"])
@pytest.mark.rule("CLIENT-13")
def test_timestamp_that_cannot_be_does_not_count(time_ms: int) -> None:
    write = produced(0, time_ms=NOW_MS)

    assert isinstance(table_of(write, passing(time_ms)).judge(write), Repeated)


@pytest.mark.rule("CLIENT-13")
def test_control_batch_does_not_count() -> None:
    write = produced(0, time_ms=NOW_MS)

    table = table_of(write, produced(0, is_control=True, at=9, time_ms=NOW_MS + 99 * DAY_MS))

    assert isinstance(table.judge(write), Repeated)


@pytest.mark.rule("CLIENT-13")
def test_write_from_before_the_first_timestamp_counts_as_written_then() -> None:
    write = produced(0)

    assert isinstance(table_of(write, passing(NOW_MS)).judge(write), Repeated)
    assert isinstance(table_of(write, passing(NOW_MS), passing(NOW_MS + DAY_MS - 1)).judge(write), Repeated)
    assert table_of(write, passing(NOW_MS), passing(NOW_MS + DAY_MS)).judge(write) == Accepted()


@pytest.mark.rule("CLIENT-13")
def test_what_was_forgotten_is_known_again_when_the_log_is_cut() -> None:
    writes = [keyed(0, writer=f"writer {number}", at=number, time_ms=NOW_MS + number) for number in range(5)]
    table = table_of(*writes)
    before = table.image(Offset(5))
    table.appended(passing(NOW_MS + DAY_MS + 2, at=5))
    assert len(table.image(Offset(6)).histories) == 2

    table.truncated(Offset(5))

    assert table.image(Offset(5)) == before
    assert list(table.image(Offset(5)).histories) == list(before.histories)


def test_a_start_keeps_what_it_takes_to_undo_the_tail_only() -> None:
    table = WriterTable(expiry=WriterExpiry())
    table.committed(Offset(90))
    for offset in range(100):
        table.appended(keyed(0, writer=f"writer {offset}", at=offset))

    assert len(table._undo) == 10
    table.truncated(Offset(90))
    assert len(table.image(Offset(90)).histories) == 90
