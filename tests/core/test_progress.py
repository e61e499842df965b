"""How far the others have come, as their fetches show it (END-3, FETCH-16, DESCRIBE-6)."""

from __future__ import annotations

import pytest

from raft.core.progress import MAX_OBSERVERS, QuorumProgress, ReplicaProgress
from raft.types import NodeId, Offset, ReplicaKey
from tests.core.builder import voter_set


def some_progress() -> QuorumProgress:
    """Leader 1 of voters 1, 2 and 3, since 0 ms."""
    return QuorumProgress(voter_set(), NodeId(1), check_quorum_ms=3000, begin_interval_ms=1000, now_ms=0)


@pytest.mark.parametrize(
    ("fetches", "caught_up_ms"),
    [
        pytest.param([(5, 10, 100)], None, id="never had all"),
        pytest.param([(10, 10, 100)], 100, id="has all there is"),
        pytest.param([(5, 10, 100), (10, 20, 200)], 100, id="has all there was when it fetched before"),
        pytest.param([(5, 10, 100), (9, 20, 200)], None, id="not quite all there was when it fetched before"),
        pytest.param([(10, 10, 100), (12, 20, 200)], 100, id="all there was before, and some more"),
        pytest.param([(10, 10, 100), (10, 20, 200), (15, 30, 300)], 100, id="falls behind"),
        pytest.param([(0, 10, 100)], None, id="the first fetch is not compared with an empty log"),
    ],
)
@pytest.mark.rule("DESCRIBE-6")
def test_replica_was_caught_up_when_it_had_all_the_leader_had(
    fetches: list[tuple[int, int, int]], caught_up_ms: int | None
) -> None:
    replica = ReplicaProgress()

    for offset, leader_end, now_ms in fetches:
        replica = replica.after_fetch(Offset(offset), leader_end=Offset(leader_end), now_ms=now_ms)

    assert replica.last_caught_up_ms == caught_up_ms
    assert (replica.fetch_offset, replica.last_fetch_ms) == (fetches[-1][0], fetches[-1][2])


@pytest.mark.rule("FETCH-16")
@pytest.mark.parametrize(("now_ms", "remembered"), [(300_099, True), (300_100, False)])
def test_observer_is_forgotten_after_300_seconds_without_a_fetch(now_ms: int, remembered: bool) -> None:
    progress = some_progress()
    observer = ReplicaKey(NodeId(9))
    progress.observer_fetched(observer, Offset(7), leader_end=Offset(10), now_ms=100)

    progress.forget_silent_observers(now_ms)

    assert (observer in progress.observers) is remembered


@pytest.mark.rule("FETCH-16")
@pytest.mark.parametrize(("now_ms", "active"), [(300_099, [8, 9]), (300_100, [9]), (300_200, [])])
def test_progress_names_no_silent_observers_and_forgets_none_when_it_is_read(now_ms: int, active: list[int]) -> None:
    progress = some_progress()
    for node_id, fetched_ms in ((8, 100), (9, 200)):
        progress.observer_fetched(ReplicaKey(NodeId(node_id)), Offset(7), leader_end=Offset(10), now_ms=fetched_ms)

    assert [observer.node_id for observer, _ in progress.active_observers(now_ms)] == active
    assert len(progress.observers) == 2


@pytest.mark.rule("FETCH-16")
def test_observers_beyond_the_limit_replace_those_that_fetched_longest_ago() -> None:
    progress = some_progress()
    for number in range(MAX_OBSERVERS + 2):
        progress.observer_fetched(ReplicaKey(NodeId(10 + number)), Offset(7), leader_end=Offset(10), now_ms=number)
        progress.observer_fetched(ReplicaKey(NodeId(9)), Offset(7), leader_end=Offset(10), now_ms=number)

    assert len(progress.observers) == MAX_OBSERVERS
    assert ReplicaKey(NodeId(9)) in progress.observers, "it goes on fetching"
    assert ReplicaKey(NodeId(10)) not in progress.observers


@pytest.mark.rule("FETCH-16")
def test_observer_that_fetches_again_is_remembered_for_longer_than_one_that_does_not() -> None:
    progress = some_progress()
    for node_id, now_ms in ((8, 0), (9, 10), (8, 20)):
        progress.observer_fetched(ReplicaKey(NodeId(node_id)), Offset(7), leader_end=Offset(10), now_ms=now_ms)

    progress.forget_silent_observers(300_015)

    assert list(progress.observers) == [ReplicaKey(NodeId(8))]
    assert progress.observer_deadline_ms == 300_020
