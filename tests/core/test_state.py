"""What a state does by itself: what it keeps on disk, what it says of the leader, how it truncates its log."""

from __future__ import annotations

import pytest

from raft.core.roles import Role
from raft.errors import ErrorCode
from raft.types import NodeId, Offset
from tests.core.builder import a_config, a_state
from tests.core.orders import flushes, stores, truncates
from tests.core.states import candidate, follower, leader, prospective, resigned, unattached
from tests.core.wording import batch


@pytest.mark.parametrize(
    ("role", "kept"),
    [
        pytest.param(unattached(epoch=5, until=1, leader=9, voted=3), (5, 9, 3), id="unattached"),
        pytest.param(prospective(epoch=5, until=1, leader=2, voted=3), (5, 2, 3), id="prospective"),
        pytest.param(candidate(epoch=5, until=1), (5, None, 1), id="candidate"),
        pytest.param(leader(epoch=5, start=10), (5, 1, 1), id="leader"),
        pytest.param(resigned(epoch=5, until=1), (5, 1, 1), id="resigned"),
        pytest.param(follower(of=2, epoch=5, until=1, voted=3), (5, 2, 3), id="follower"),
    ],
)
@pytest.mark.rule("STATE-2", "STATE-3", "STATE-6", "ROLE-6")
def test_epoch_leader_and_vote_are_what_is_kept_of_a_role(role: Role, kept: tuple[int, int | None, int]) -> None:
    state = a_state(role, is_stored=False)
    epoch, leader_id, voted = kept

    state.store_election_state()
    state.store_election_state()

    assert state.effects == [stores(epoch=epoch, leader=leader_id, voted=voted)], "written, and but once"


@pytest.mark.rule("TIMER-3", "TIMER-1")
@pytest.mark.parametrize(("timeout_ms", "deadline_ms"), [(1000, 1100), (0, 100)], ids=["T", "T = 0 gives 0"])
def test_fresh_election_timer_is_never_shorter_than_t(timeout_ms: int, deadline_ms: int) -> None:
    state = a_state(unattached(epoch=5, until=1), config=a_config(election_timeout_ms=timeout_ms))

    assert state.fresh_election_deadline_ms(100) == deadline_ms


@pytest.mark.rule("DIVERGE-6", "HW-7")
def test_truncation_of_an_unflushed_tail_orders_a_new_flush_of_the_rest() -> None:
    state = a_state(follower(of=2, epoch=5, until=2000))
    state.append((batch(10, epoch=5, records=5),))
    state.append((batch(15, epoch=5, records=5),))
    state.effects.clear()

    state.truncate(Offset(15))

    assert state.effects == [truncates(15), flushes(15, number=2)]
    assert not state.flushes.done(1, Offset(20)), "an order given before the truncation is invalid"
    assert state.flushes.done(2, Offset(15))


@pytest.mark.rule("GEN-4", "GEN-11", "FETCH-10")
@pytest.mark.parametrize(
    ("role", "named"),
    [
        pytest.param(unattached(epoch=5, until=1), None, id="no leader known"),
        pytest.param(unattached(epoch=5, until=1, leader=9), NodeId(9), id="a leader of unknown address"),
        pytest.param(candidate(epoch=5, until=1), None, id="a candidate knows none"),
        pytest.param(resigned(epoch=5, until=1), NodeId(1), id="a resigned leader names itself"),
    ],
)
def test_every_fetch_response_names_the_leader_and_the_epoch(role: Role, named: NodeId | None) -> None:
    response = a_state(role).fetch_response(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert (response.leader.leader_id, response.leader.epoch) == (named, 5)
