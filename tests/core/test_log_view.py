"""The log as the rules see it, against a model that is the list of each record's epoch (DIVERGE, LOG-5, 10, 12)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from raft.core.log_view import Agreement, LogView
from raft.types import Epoch, EpochStart, Offset
from tests.core.builder import a_log
from tests.core.wording import batch, point

epochs_of_records = st.lists(st.integers(1, 6), max_size=12).map(sorted)
"""One epoch for each record, in order: that describes a whole log."""


def log_of(records: list[int]) -> LogView:
    """A log built by appending those records one by one."""
    log = LogView()
    for offset, epoch in enumerate(records):
        log.append(batch(offset, epoch=epoch).header)
    return log


def cache(log: LogView) -> list[tuple[int, int]]:
    """The epoch cache in pairs."""
    return [(entry.epoch, entry.start_offset) for entry in log.epochs]


def starts_of(records: list[int]) -> list[tuple[int, int]]:
    """The epoch cache that a list of epochs should have."""
    return [(epoch, records.index(epoch)) for epoch in sorted(set(records))]


def end_in(records: list[int], epoch: int) -> tuple[int, int]:
    """The largest epoch at or below, and where it ends (DIVERGE-2)."""
    if not records or epoch >= records[-1]:
        return (records[-1] if records else 0, len(records))
    at_or_below = [e for e in records if e <= epoch]
    return (at_or_below[-1], len(at_or_below)) if at_or_below else (epoch, 0)


# Appending and truncating


@given(epochs_of_records)
@pytest.mark.rule("LOG-10", "GEN-13")
def test_log_knows_its_end_and_where_each_epoch_began(records: list[int]) -> None:
    log = log_of(records)

    assert log.end == point(records[-1] if records else 0, len(records))
    assert cache(log) == starts_of(records)


@given(epochs_of_records, st.integers(0, 13))
@pytest.mark.rule("DIVERGE-6", "LOG-12")
def test_truncated_log_equals_a_log_without_the_rest(records: list[int], end: int) -> None:
    log = log_of(records)

    log.truncate(Offset(end))

    assert log.end == log_of(records[:end]).end
    assert cache(log) == starts_of(records[:end])


@given(epochs_of_records, st.integers(0, 12))
def test_log_knows_the_epoch_before_any_offset(records: list[int], offset: int) -> None:
    log = log_of(records)

    expected = 0 if offset == 0 or not records else records[min(offset, len(records)) - 1]
    assert log.epoch_at(Offset(offset)) == expected


@pytest.mark.rule("LOG-5")
@pytest.mark.parametrize("base_offset", [9, 11], ids=["overlap", "gap"])
def test_batch_must_begin_where_the_log_ends(base_offset: int) -> None:
    log = a_log()

    with pytest.raises(AssertionError, match=f"batch at {base_offset}, log ends at 10"):
        log.append(batch(base_offset, epoch=5).header)


@pytest.mark.rule("LOG-10")
def test_batch_must_not_be_of_an_older_epoch_than_the_last() -> None:
    log = a_log([(3, 0), (5, 8)], 10)

    with pytest.raises(AssertionError, match="records of epoch 4 after epoch 5"):
        log.append(batch(10, epoch=4).header)


@pytest.mark.rule("GEN-13", "VOTE-3", "DIVERGE-9")
def test_epoch_without_records_is_not_that_of_the_last_record() -> None:
    log = a_log([(3, 0), (5, 10)], 10)

    assert log.end == point(3, 10)
    assert log.end_of_epoch(Epoch(4)) == point(3, 10)
    assert log.end_of_epoch(Epoch(5)) == point(5, 10)


@pytest.mark.parametrize(
    ("entry", "after"),
    [
        pytest.param((6, 20), [(1, 0), (3, 5), (5, 8), (6, 20)], id="a later epoch further on"),
        pytest.param((6, 8), [(1, 0), (3, 5), (6, 8)], id="an epoch that wrote nothing is replaced"),
        pytest.param((4, 20), [(1, 0), (3, 5), (4, 20)], id="later epochs go"),
        pytest.param((6, 5), [(1, 0), (6, 5)], id="later starts go"),
        pytest.param((2, 0), [(2, 0)], id="all of them go"),
        pytest.param((5, 20), [(1, 0), (3, 5), (5, 8)], id="the newest epoch again is no news"),
    ],
)
@pytest.mark.rule("LOG-12", "LOG-10")
def test_new_epoch_removes_the_entries_at_or_past_it(entry: tuple[int, int], after: list[tuple[int, int]]) -> None:
    log = a_log([(1, 0), (3, 5), (5, 8)], 10)

    log.start_epoch(Epoch(entry[0]), Offset(entry[1]))

    assert cache(log) == after


@pytest.mark.rule("DIVERGE-6")
def test_truncation_at_the_end_removes_an_epoch_without_records() -> None:
    log = LogView(
        end_offset=Offset(10),
        epochs=[
            EpochStart(epoch=Epoch(3), start_offset=Offset(0)),
            EpochStart(epoch=Epoch(5), start_offset=Offset(10)),
        ],
    )

    log.truncate(Offset(10))

    assert cache(log) == [(3, 0)]


# Diverging logs


@given(epochs_of_records, st.integers(0, 7))
@pytest.mark.rule("DIVERGE-2")
def test_end_of_an_epoch_agrees_with_a_search_of_every_record(records: list[int], epoch: int) -> None:
    assert log_of(records).end_of_epoch(Epoch(epoch)) == point(*end_in(records, epoch))


@given(epochs_of_records, st.integers(0, 13), st.integers(0, 7))
@pytest.mark.rule("DIVERGE-3")
def test_position_is_valid_when_the_epoch_is_there_and_reaches_that_far(
    records: list[int], offset: int, epoch: int
) -> None:
    is_valid = offset == 0 or (end_in(records, epoch)[0] == epoch and end_in(records, epoch)[1] >= offset)

    assert log_of(records).agreement(Offset(offset), Epoch(epoch)) == (
        Agreement.VALID if is_valid else Agreement.DIVERGING
    )


@given(epochs_of_records, st.integers(0, 7), st.integers(0, 13))
@example(records=[1, 1], epoch=2, offset=1)
@pytest.mark.rule("DIVERGE-5")
def test_truncation_agrees_with_a_search_of_every_record(records: list[int], epoch: int, offset: int) -> None:
    local_epoch, local_end = end_in(records, epoch)
    if epoch == 0:
        expected = min(offset, len(records))
    elif local_epoch == epoch:
        expected = min(local_end, offset)
    else:
        expected = local_end

    assert log_of(records).truncation_offset(point(epoch, offset)) == expected


@given(epochs_of_records, epochs_of_records, st.integers(0, 12))
@pytest.mark.rule("DIVERGE-1", "DIVERGE-4", "DIVERGE-5", "DIVERGE-8")
def test_follower_shares_the_leaders_log_after_finitely_many_rounds(
    leaders: list[int], followers: list[int], common: int
) -> None:
    # Given logs as elections leave them: equal up to an offset, then of epochs that the other log never had.
    shared = [epoch for epoch in leaders[:common] if epoch <= 6]
    theirs = shared + [10 + 2 * epoch for epoch in leaders]
    ours = shared + [11 + 2 * epoch for epoch in followers]
    leader, follower = log_of([*theirs, 99]), log_of(ours)

    rounds = 0
    while leader.agreement(follower.end_offset, follower.last_epoch) is Agreement.DIVERGING:
        before = follower.end_offset
        follower.truncate(follower.truncation_offset(leader.end_of_epoch(follower.last_epoch)))
        assert follower.end_offset < before, "each round takes something away"
        rounds += 1

    assert ours[: follower.end_offset] == [*theirs, 99][: follower.end_offset]
    assert follower.end_offset >= len(shared), "and nothing that both have"
    assert rounds <= len(ours)


@pytest.mark.parametrize(
    ("leaders", "followers", "rounds"),
    [
        pytest.param(
            a_log([(1, 0), (3, 10)], 15),
            a_log([(1, 0), (2, 10)], 13),
            [((13, 2), (1, 10), 10)],
            marks=pytest.mark.rule("SCENARIO-28"),
            id="one round",
        ),
        pytest.param(
            a_log([(1, 0), (3, 5), (5, 8)], 9),
            a_log([(1, 0), (2, 5), (4, 7)], 10),
            [((10, 4), (3, 8), 7), ((7, 2), (1, 5), 5)],
            marks=pytest.mark.rule("SCENARIO-29"),
            id="two rounds",
        ),
        pytest.param(
            a_log([(2, 0), (3, 6)], 9),
            a_log([(2, 0)], 10),
            [((10, 2), (2, 6), 6)],
            marks=pytest.mark.rule("SCENARIO-30"),
            id="same epoch, longer follower",
        ),
        pytest.param(
            a_log([(3, 5), (5, 8)], 8),
            a_log([(3, 5), (4, 8)], 10),
            [((10, 4), (3, 8), 8)],
            marks=pytest.mark.rule("SCENARIO-31", "DIVERGE-9"),
            id="leader without own record yet",
        ),
        pytest.param(
            a_log([(3, 5), (5, 8)], 9),
            a_log([(3, 5), (4, 8)], 10),
            [((10, 4), (3, 8), 8)],
            marks=pytest.mark.rule("SCENARIO-31"),
            id="leader with its own record",
        ),
        pytest.param(
            a_log([(3, 0)], 9),
            a_log([(2, 0)], 4),
            [((4, 2), (2, 0), 0)],
            marks=pytest.mark.rule("SCENARIO-32"),
            id="epoch before the leader's first",
        ),
    ],
)
@pytest.mark.rule("DIVERGE-2", "DIVERGE-3", "DIVERGE-4", "DIVERGE-5", "DIVERGE-8")
def test_leader_and_follower_find_where_their_logs_diverge(
    leaders: LogView, followers: LogView, rounds: list[tuple[tuple[int, int], tuple[int, int], int]]
) -> None:
    follower = LogView(end_offset=followers.end_offset, epochs=followers.epochs)

    for asked, told, truncated in rounds:
        assert (follower.end_offset, follower.last_epoch) == asked
        assert leaders.agreement(follower.end_offset, follower.last_epoch) is Agreement.DIVERGING
        assert leaders.end_of_epoch(follower.last_epoch) == point(*told)
        assert follower.truncation_offset(point(*told)) == truncated
        follower.truncate(Offset(truncated))

    assert leaders.agreement(follower.end_offset, follower.last_epoch) is Agreement.VALID
