"""Each check finds its violation, and nothing in a history without any.

The histories are small: times are small numbers, "A", "B", ... are values, and offset 0 is a control record's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from raft.types import Offset
from tests.workload import checks
from tests.workload.history import Append, History, LoggedValue, Read
from tests.workload.verdict import judge

MILLISECOND_NS = 1_000_000


def append(
    value: str, asked: int, acknowledged: int | None = None, *, at: int | None = None, client: str = "client"
) -> Append:
    offset = None if at is None else Offset(at)
    return Append(client=client, value=value.encode(), invoked_ns=asked, acknowledged_ns=acknowledged, offset=offset)


def read(
    values: str, start: int, end: int, *, session: str = "session", asked: int = 0, high_watermark: int | None = None
) -> Read:
    """A read that found one value at each offset from `start` on."""
    return Read(
        session=session,
        invoked_ns=asked,
        answered_ns=asked + 1,
        start_offset=Offset(start),
        end_offset=Offset(end),
        records=tuple(log(values, first=start)),
        high_watermark=None if high_watermark is None else Offset(high_watermark),
    )


def look(high_watermark: int, *, session: str = "session", asked: int = 0, is_latest: bool = False) -> Read:
    seen = read("", 0, 0, session=session, asked=asked, high_watermark=high_watermark)
    return replace(seen, is_latest=is_latest)


def log(values: str, *, first: int = 1) -> list[LoggedValue]:
    return [(Offset(first + at), value.encode()) for at, value in enumerate(values)]


def history_of(appends: Sequence[Append] = (), reads: Sequence[Read] = ()) -> History:
    history = History()
    for attempt in appends:
        history.appended(attempt)
    for each in reads:
        history.read(each)
    return history


FINE = [
    pytest.param([append("A", 1, 2, at=1), append("B", 3, 4, at=2)], [], "AB", id="one after the other"),
    pytest.param([append("B", 1, 4, at=2), append("A", 2, 3, at=1, client="another")], [], "AB", id="at the same time"),
    pytest.param([append("A", 1, 2, at=1), append("B", 1)], [], "AB", id="unknown outcome, in the log"),
    pytest.param([append("A", 1, 2, at=1), append("B", 1)], [], "A", id="unknown outcome, not in the log"),
    pytest.param([append("B", 1), append("A", 2, 3, at=1)], [], "AB", id="unknown outcome, appended late"),
    pytest.param([append("A", 1), append("A", 2, 3, at=1)], [], "A", id="tried again"),
    pytest.param(
        [
            append("A", 1, 2, at=1, client="twin"),
            append("B", 3, 4, at=2, client="twin"),
            append("A", 5, 6, at=1, client="other twin"),
            append("B", 7, 8, client="other twin"),
        ],
        [],
        "AB",
        id="repeated by a twin, acknowledged with an offset or without",
    ),
    pytest.param(
        [append("A", 1, 2, at=1), append("B", 1, 2, at=2)], [read("A", 1, 2), read("B", 2, 3)], "AB", id="read"
    ),
    pytest.param([append("A", 1, 2, at=1)], [look(2), look(2), read("", 2, 2, high_watermark=2)], "A", id="nothing"),
    pytest.param(
        [append("A", 1, 2, at=1)],
        [look(2, session="one", asked=3), look(1, session="two", asked=4)],
        "A",
        id="another session may know less",
    ),
]


@pytest.mark.parametrize(("appends", "reads", "values"), FINE)
def test_judge_finds_nothing_in_a_valid_history(appends: list[Append], reads: list[Read], values: str) -> None:
    verdict = judge(history_of(appends, reads), log(values), stale_allowed_ms=1)

    assert verdict.is_fine, str(verdict)
    assert str(verdict) == "lost 0, doubled 0, invariants broken 0"


def test_lost_names_an_acknowledged_value_that_is_not_in_the_log() -> None:
    writes = checks.writes_of([append("A", 1, 2, at=1), append("B", 3, 4, at=2), append("C", 5)])

    assert list(checks.lost(writes, log("A"))) == ["b'B' was acknowledged and is not in the log"]


def test_lost_names_a_value_of_which_one_attempt_was_acknowledged() -> None:
    writes = checks.writes_of([append("A", 1, 2), append("A", 3)])

    assert len(list(checks.lost(writes, log("")))) == 1


@pytest.mark.parametrize(
    ("values", "offsets"), [pytest.param("ABA", "[1, 3]", id="twice"), pytest.param("BAAA", "[2, 3, 4]", id="more")]
)
def test_doubled_names_a_value_that_is_in_the_log_again(values: str, offsets: str) -> None:
    (found,) = checks.doubled(log(values))

    assert found == f"b'A' is in the log {values.count('A')} times, at {offsets}"


def test_invented_names_a_value_that_no_client_wrote() -> None:
    writes = checks.writes_of([append("A", 1), append("C", 1)])

    assert list(checks.invented(writes, log("AB"))) == ["b'B' at 2 was written by no client"]


@pytest.mark.parametrize(
    ("offset", "expected"), [pytest.param(2, "b'B'", id="another value"), pytest.param(3, "None", id="nothing")]
)
def test_misplaced_names_a_value_that_is_not_at_its_acknowledged_offset(offset: int, expected: str) -> None:
    (found,) = checks.misplaced([append("A", 1, 2, at=offset), append("B", 1, 2, at=2)], log("AB"))

    assert found == f"client: b'A' was acknowledged at {offset}; the log has {expected} there"


@pytest.mark.parametrize(
    "appends",
    [
        pytest.param([append("B", 1, 2), append("A", 3, 4)], id="both acknowledged"),
        pytest.param([append("B", 1, 2), append("A", 3)], id="the later one of unknown outcome"),
        pytest.param([append("C", 1, 9), append("B", 1, 2), append("A", 3, 4)], id="others in flight"),
        pytest.param([append("B", 1, 2), append("B", 1, 5), append("A", 3, 4)], id="a twin acknowledged later"),
        pytest.param([append("A", 6, 7), append("B", 1, 2), append("A", 3, 4)], id="a twin repeats it"),
    ],
)
def test_judge_names_a_value_that_overtook_one_acknowledged_before_it(appends: list[Append]) -> None:
    verdict = judge(history_of(appends, []), log("ABC"))

    assert "b'A' is at 1, but appends up to 3 were acknowledged before" in verdict.broken


def test_out_of_order_names_exchanged_values_of_one_client() -> None:
    in_flight = [append("A", 1, 9, at=2), append("B", 2, 8, at=1)]

    assert list(checks.out_of_order(in_flight)) == ["client wrote b'B' after b'A', but they are at 1 and 2"]
    assert not list(checks.out_of_order([append("A", 1, 9, at=2), append("B", 2, 8, at=1, client="another")]))


@pytest.mark.parametrize(
    ("bad", "found", "expected"),
    [
        pytest.param(read("A", 1, 3), "None", "(2, b'B')", id="the last one is missing"),
        pytest.param(read("B", 2, 4), "None", "(3, b'C')", id="the last one of a later range is missing"),
        pytest.param(read("B", 1, 2), "(1, b'B')", "(1, b'A')", id="another value"),
        pytest.param(read("ABX", 1, 3), "(3, b'X')", "None", id="one more than the range has"),
        pytest.param(read("D", 4, 5), "(4, b'D')", "None", id="past the end of the log"),
    ],
)
def test_unfaithful_reads_are_named_with_the_first_difference(bad: Read, found: str, expected: str) -> None:
    (story,) = checks.unfaithful_reads([read("ABC", 1, 4), bad], log("ABC"))

    assert story == (
        f"session read {bad.start_offset} to {bad.end_offset} and found {found}, where the log has {expected}"
    )


@pytest.mark.parametrize(
    "reads",
    [
        pytest.param([look(3), look(2)], id="a lower high watermark"),
        pytest.param([look(3), look(5, session="another"), look(2)], id="other sessions between"),
        pytest.param([read("AB", 1, 3), look(2)], id="a high watermark below what was read"),
        pytest.param([read("AB", 1, 3, high_watermark=2)], id="more was read than is committed"),
    ],
)
def test_reads_that_go_back_are_named(reads: list[Read]) -> None:
    (found,) = checks.reads_that_go_back(reads)

    assert found == "session had reached 3, and then saw high watermark 2"


def test_too_stale_names_a_read_that_misses_a_record_acknowledged_too_long_ago() -> None:
    appends = [append("A", 0, 5 * MILLISECOND_NS, at=1), append("B", 0, 10 * MILLISECOND_NS, at=2)]
    writes = checks.writes_of(appends)
    reads = [look(1, asked=10 * MILLISECOND_NS), look(2, asked=12 * MILLISECOND_NS), look(3, asked=99 * MILLISECOND_NS)]

    late = [*checks.staleness_ms(reads, writes, log("AB"))]
    assert not list(checks.too_stale(late, allowed_ms=5))
    (found,) = checks.too_stale(late, allowed_ms=4)
    assert found == "session saw high watermark 1 5 ms after a record above it was acknowledged; expected at most 4 ms"


def test_staleness_counts_from_the_first_acknowledgement_that_is_missing() -> None:
    # The later record was acknowledged earlier.
    writes = checks.writes_of([append("A", 0, 9 * MILLISECOND_NS), append("B", 0, 2 * MILLISECOND_NS)])

    ((late_ms, _),) = checks.staleness_ms([look(1, asked=10 * MILLISECOND_NS)], writes, log("AB"))

    assert late_ms == 8


def test_verdict_shows_all_sentences_and_counts_them_by_kind() -> None:
    history = history_of([append("A", 1, 2, at=1), append("B", 3, 4, at=2)], [look(3), look(2)])
    history.complain("client", ValueError("no"))

    verdict = judge(history, log("AA"), stale_allowed_ms=1, complaints=["node 1 reports: Traceback"])

    lines = str(verdict).splitlines()
    assert not verdict.is_fine
    assert lines[0] == "b'B' was acknowledged and is not in the log"
    assert lines[1] == "b'A' is in the log 2 times, at [1, 2]"
    assert "node 1 reports: Traceback" in lines
    assert "client ended with ValueError: no" in lines
    assert lines[-1] == "lost 1, doubled 1, invariants broken 4"


@pytest.mark.rule("READ-1")
@pytest.mark.parametrize(
    ("reads", "wrong"),
    [
        pytest.param(
            [look(1, session="one", asked=5, is_latest=True)],
            "one returned the end 1, but appends up to 3 were acknowledged before",
            id="it misses acknowledged values",
        ),
        pytest.param(
            [look(9, session="one", asked=5, is_latest=True), look(8, session="two", asked=7, is_latest=True)],
            "two returned the end 8, but another one had returned 9 before",
            id="another session goes back",
        ),
    ],
)
def test_judge_names_a_linearizable_read_that_is_not(reads: list[Read], wrong: str) -> None:
    appends = [append("A", 1, 2, at=1), append("B", 3, 4, at=2)]

    assert wrong in judge(history_of(appends, reads), log("AB"), stale_allowed_ms=1).broken
