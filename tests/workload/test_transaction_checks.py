"""Each check of transactions finds its violation, and nothing in a history without any.

"A", "B", ... are values. The transaction of "AB" lies at offsets 1 and 2 and ends with the marker at 4, where nothing
else is said.
"""

from __future__ import annotations

import pytest

from raft.types import Offset
from tests.workload import checks
from tests.workload.history import Append, History, LoggedValue, Read, Transaction
from tests.workload.transaction_checks import attempts_of, disordered, ended, half_seen, seen_too_early, torn
from tests.workload.transaction_history import LoggedTransaction, MultipartWrite
from tests.workload.verdict import judge

MILLISECOND_NS = 1_000_000


def transaction(
    values: str,
    begun: int,
    requested: int | None = None,
    acknowledged: int | None = None,
    *,
    commit: bool = True,
    tasks: tuple[int, ...] = (),
    timeout_ms: int = 1_000,
) -> Transaction:
    return Transaction(
        client="client",
        values=tuple(value.encode() for value in values),
        task_sizes=tasks or (len(values),),
        begun_ns=begun,
        wants_commit=commit,
        end_requested_ns=requested,
        acknowledged_ns=acknowledged,
        timeout_ms=timeout_ms,
    )


def log(values: str, *, first: int = 1) -> list[LoggedValue]:
    return [(Offset(first + at), value.encode()) for at, value in enumerate(values)]


def logged(values: str, *, first: int = 1, end: int | None = 5, committed: bool = True) -> LoggedTransaction:
    """A transaction with one value at each offset from `first` on."""
    end_offset = None if end is None else Offset(end)
    return LoggedTransaction(7, log(values, first=first), is_committed=committed, end_offset=end_offset)


def part_of_write(values: str, *, first: int, end: int | None) -> LoggedTransaction:
    """A part that a WRITE_COMMIT names; its write ends with the marker before `end`."""
    part = logged(values, first=first, end=end)
    part.write = MultipartWrite(Offset(first + len(values)))
    return part


def look(shown: int, *, asked: int, latest: bool = True) -> Read:
    return Read(
        session=f"at {asked}",
        invoked_ns=asked,
        answered_ns=asked + 1,
        start_offset=Offset(0),
        end_offset=Offset(0),
        high_watermark=Offset(shown),
        is_latest=latest,
    )


def append(value: str, asked: int, acknowledged: int, *, at: int) -> Append:
    return Append(
        client="another", value=value.encode(), invoked_ns=asked, acknowledged_ns=acknowledged, offset=Offset(at)
    )


@pytest.mark.parametrize(
    ("attempts", "values"),
    [
        pytest.param([transaction("AB", 1, 2, 3)], "AB", id="committed"),
        pytest.param([transaction("AB", 1, 2)], "AB", id="unknown outcome, committed"),
        pytest.param([transaction("AB", 1, 2)], "", id="unknown outcome, aborted"),
        pytest.param([transaction("AB", 1, 2, 3, commit=False)], "", id="aborted"),
        pytest.param([transaction("AB", 1, commit=False), transaction("AB", 2, 3, 4)], "AB", id="tried again"),
        pytest.param([transaction("ABC", 1, 2, 3, tasks=(2, 1))], "CAB", id="tasks in another order"),
    ],
)
def test_transactions_that_are_visible_as_a_whole_or_not_at_all_are_fine(
    attempts: list[Transaction], values: str
) -> None:
    history = History()
    for attempt in attempts:
        history.transacted(attempt)

    verdict = judge(history, log(values))

    assert verdict.is_fine, str(verdict)


@pytest.mark.parametrize("attempt", [transaction("ABC", 1, 2, 3), transaction("ABC", 1, 2)])
def test_torn_names_a_transaction_of_which_a_part_is_visible(attempt: Transaction) -> None:
    (found,) = torn(attempts_of([attempt]), log("AC"))

    assert "2 of 3 values of a transaction of client are visible" in found


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(transaction("AB", 1, 2, 3, commit=False), id="aborted"),
        pytest.param(transaction("AB", 1, commit=False), id="left open"),
    ],
)
def test_torn_names_a_transaction_that_is_visible_without_a_commit(attempt: Transaction) -> None:
    (found,) = torn(attempts_of([attempt]), log("AB"))

    assert "no commit was requested" in found


def test_acknowledged_transaction_that_is_not_visible_is_lost() -> None:
    history = History()
    history.transacted(transaction("AB", 1, 2, 3))

    assert len(judge(history, log("")).lost) == 2


def test_multipart_write_of_which_two_attempts_are_visible_is_doubled() -> None:
    history = History()
    history.transacted(transaction("AB", 1, 2))
    history.transacted(transaction("AB", 3, 4, 5))

    assert len(judge(history, log("ABAB")).doubled) == 2


def test_disordered_names_exchanged_values_of_a_task() -> None:
    attempts = attempts_of([transaction("ABC", 1, 2, 3, tasks=(1, 2))])

    assert not list(disordered(attempts, log("BCA")))
    (found,) = disordered(attempts, log("CAB"))
    assert found == "client sent b'C' after b'B', but they are in the other order"


@pytest.mark.parametrize(
    ("attempts", "first", "reads", "is_early"),
    [
        pytest.param([transaction("AB", 1, 10)], 1, [look(1, asked=5)], False, id="the reader stops before it"),
        pytest.param([transaction("AB", 1, 10)], 1, [look(3, asked=10)], False, id="after the request"),
        pytest.param([transaction("AB", 1, 10)], 1, [look(3, asked=8)], True, id="before the request"),
        pytest.param([transaction("AB", 1, 10)], 1, [look(2, asked=8, latest=False)], True, id="of any read"),
        pytest.param([transaction("AB", 1, timeout_ms=2)], 1, [look(3, asked=10)], True, id="left open"),
        pytest.param(
            [transaction("AB", 1, timeout_ms=2)], 1, [look(3, asked=3 * MILLISECOND_NS)], False, id="after its timeout"
        ),
        pytest.param(
            [transaction("AB", 1, 10), transaction("AB", 2, 5)], 1, [look(3, asked=7)], False, id="ended by a twin"
        ),
        pytest.param([transaction("AB", 1, 10)], 9, [look(3, asked=8)], False, id="it begins later in the log"),
    ],
)
def test_reader_that_passes_an_open_transaction_is_named(
    attempts: list[Transaction], first: int, reads: list[Read], is_early: bool
) -> None:
    found = list(seen_too_early(attempts_of(attempts), [logged("AB", first=first, end=None)], reads))

    assert len(found) == int(is_early)
    assert all(f"begins at {first}, and a reader had reached" in sentence for sentence in found)


def test_read_of_records_behind_an_open_transaction_is_too_early() -> None:
    read = Read(
        session="librdkafka",
        invoked_ns=4,
        answered_ns=5,
        start_offset=Offset(3),
        end_offset=Offset(4),
        records=((Offset(3), b"C"),),
    )

    assert len(list(seen_too_early(attempts_of([transaction("AB", 1, 10)]), [logged("AB")], [read]))) == 1


@pytest.mark.parametrize(
    ("shown", "asked", "is_old"),
    [
        pytest.param(7, 30, False, id="everything"),
        pytest.param(6, 25, True, id="the last record is missing"),
        pytest.param(6, 19, False, id="the last record is not acknowledged yet"),
        pytest.param(1, 9, False, id="behind an open transaction"),
        pytest.param(1, 12, True, id="behind a transaction whose end was acknowledged"),
        pytest.param(1, 25, True, id="behind a transaction before an acknowledged record"),
        pytest.param(2, 9, True, id="in the middle of a transaction"),
    ],
)
def test_end_that_a_leader_confirmed_misses_nothing_that_was_acknowledged(shown: int, asked: int, is_old: bool) -> None:
    # Offsets: A 1, C 2 (acknowledged before the end of A's transaction), marker 4, D 6.
    history = History()
    history.transacted(transaction("A", 1, 8, 11))
    history.appended(append("C", 2, 3, at=2))
    history.appended(append("D", 12, 20, at=6))
    history.read(look(shown, asked=asked))
    values = [(Offset(1), b"A"), (Offset(2), b"C"), (Offset(6), b"D")]

    verdict = judge(history, values, transactions=[logged("A")], stale_allowed_ms=1)

    assert any("was told that the log ends at" in sentence for sentence in verdict.sentences) is is_old
    assert verdict.is_fine is not is_old


WRITE = (
    part_of_write("A", first=1, end=6),
    part_of_write("C", first=3, end=6),
    logged("B", first=2, end=9, committed=False),
    part_of_write("D", first=10, end=12),
    part_of_write("E", first=11, end=None),
)
"""A write from 1 to 6, within which a transaction of another producer begins and ends at 9, and two other writes."""


@pytest.mark.parametrize(
    ("shown", "is_half"),
    [(1, False), (2, True), (3, True), (5, True), (6, False), (10, False), (11, True), (12, False), (13, False)],
)
def test_reader_that_is_told_an_end_within_a_multipart_write_is_named(shown: int, is_half: bool) -> None:
    found = list(half_seen(WRITE, [look(shown, asked=5)]))

    assert len(found) == is_half
    assert all(f"at 5 saw the log up to {shown}, within the multipart write from" in sentence for sentence in found)


@pytest.mark.parametrize(
    ("shown", "acknowledged_at", "is_old"),
    [
        pytest.param(1, 7, False, id="a transaction within the write is open"),
        pytest.param(1, 8, True, id="that transaction has ended"),
        pytest.param(2, 8, True, id="the transaction itself"),
        pytest.param(10, 99, False, id="a write within the write is open"),
    ],
)
def test_end_at_the_begin_of_a_write_is_old_once_what_began_within_it_has_ended(
    shown: int, acknowledged_at: int, is_old: bool
) -> None:
    writes = checks.writes_of([append("Z", 1, 2, at=acknowledged_at)])
    values = [(Offset(acknowledged_at), b"Z")]

    found = list(checks.staleness_ms([look(shown, asked=5)], writes, values, transactions=WRITE))

    assert bool(found) == is_old


def test_end_at_the_begin_of_overlapping_writes_is_old_once_the_last_of_them_has_ended() -> None:
    chain = [part_of_write("A", first=1, end=6), part_of_write("B", first=4, end=9), logged("C", first=8, end=20)]
    values = [(Offset(at), str(at).encode()) for at in (18, 19)]

    def is_old(acknowledged_at: int) -> bool:
        writes = checks.writes_of([append(str(acknowledged_at), 1, 2, at=acknowledged_at)])
        return bool(list(checks.staleness_ms([look(1, asked=5)], writes, values, transactions=chain)))

    assert [is_old(18), is_old(19)] == [False, True]


def test_stale_leader_is_allowed_for_other_reads_only() -> None:
    reads = [look(1, asked=5, latest=latest) for latest in (False, True)]
    staleness = list(checks.staleness_ms(reads, checks.writes_of([append("A", 1, 2, at=1)]), log("A")))

    assert len(staleness) == 2
    (found,) = checks.too_stale(staleness, allowed_ms=1)
    assert "expected at most 0 ms" in found


@pytest.mark.parametrize(
    ("attempt", "parts", "expected"),
    [
        pytest.param(transaction("AB", 1, 2, 3), [logged("AB")], [(4, 3)], id="committed"),
        pytest.param(transaction("AB", 1, 2, 3, commit=False), [logged("AB", committed=False)], [(4, 3)], id="aborted"),
        pytest.param(transaction("AB", 1, 2), [logged("AB")], [], id="not acknowledged"),
        pytest.param(
            transaction("AB", 1, 2, 3),
            [logged("AB", committed=False), logged("AB", first=6, end=9)],
            [(8, 3)],
            id="again",
        ),
        pytest.param(
            transaction("AB", 1, 2, 3, commit=False),
            [logged("AB", committed=False), logged("AB", first=6, end=9, committed=False)],
            [],
            id="two parts were aborted",
        ),
        pytest.param(transaction("AB", 1, 2, 3), [], [], id="as one batch"),
    ],
)
def test_acknowledged_ends_have_the_offset_of_their_marker(
    attempt: Transaction, parts: list[LoggedTransaction], expected: list[tuple[int, int]]
) -> None:
    assert list(ended(attempts_of([attempt]), parts)) == expected
