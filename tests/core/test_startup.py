"""The role of a node when it starts (rules STATE-7..16, BOOT)."""

from __future__ import annotations

import pytest

from raft.core.config import CoreConfig
from raft.core.effects import HaltCause, StoreElectionState
from raft.core.events import Started
from raft.core.roles import Role, Unattached
from raft.types import ElectionState, Endpoint, Epoch, NodeId, ReplicaKey, Uuid
from tests.core.builder import Node, a_config, a_log, not_started, voter_set_with_directories
from tests.core.orders import becomes, flushes, halts, opens_epoch, sends, stores
from tests.core.states import candidate, follower, leader, prospective, resigned, tally, unattached
from tests.core.wording import endpoint, fetch_response, maybe_key, maybe_node, our_end_request, our_fetch, vote_request

NOBODY = Unattached(epoch=Epoch(0), election_deadline_ms=None)
"""What a node is before it has started."""


def stored(epoch: int, *, leader: int | None = None, voted: int | ReplicaKey | None = None) -> ElectionState:
    """The quorum-state file."""
    return ElectionState(epoch=Epoch(epoch), leader_id=maybe_node(leader), voted_key=maybe_key(voted))


def starting(state: ElectionState | None, config: CoreConfig | None = None) -> Node:
    """A node that has not started yet; its log ends at 10 with epoch 3."""
    return not_started(state, config=config)


@pytest.mark.rule("STATE-7", "STATE-16", "BOOT-1", "BOOT-3", "BOOT-4", "BOOT-7", "GEN-13")
def test_node_starts_unattached_at_epoch_0_when_nothing_is_stored() -> None:
    node = not_started(None, log=a_log((), 0))

    effects = node.handle(Started(), now_ms=0)

    role = unattached(epoch=0, until=1000)
    assert effects == [
        stores(epoch=0),
        becomes(role, was=NOBODY, reason="knows no leader to follow"),
        sends(our_fetch(epoch=0, log_end=(0, 0)), to=2),
    ]
    assert node.role == role


@pytest.mark.rule("STATE-19")
def test_voter_does_not_start_when_its_log_has_records_and_nothing_is_stored() -> None:
    node = not_started(None)

    effects = node.handle(Started(), now_ms=0)

    reason = (
        "the log ends at offset 10, but there is no quorum-state: voter 1 does not know in which epoch it has voted, "
        "and could vote twice in one"
    )
    assert effects == [halts(HaltCause.ELECTION_STATE_LOST, reason)]
    assert node.waits(until=9999) == []


@pytest.mark.parametrize("voters", [pytest.param((1,), id="the only voter"), pytest.param((2, 3), id="an observer")])
@pytest.mark.rule("STATE-19")
def test_node_whose_vote_decides_nothing_starts_without_a_stored_state(voters: tuple[int, ...]) -> None:
    node = not_started(None, config=a_config(voters))

    node.handle(Started(), now_ms=0)

    assert node.core.epoch >= 3


@pytest.mark.parametrize(
    ("state", "role", "reason"),
    [
        pytest.param(
            stored(5),
            unattached(epoch=5, until=1000),
            "knows no leader to follow",
            marks=pytest.mark.rule("STATE-14"),
            id="nothing known of the epoch",
        ),
        pytest.param(
            stored(5, voted=3),
            unattached(epoch=5, voted=3, until=1000),
            "knows no leader to follow",
            marks=pytest.mark.rule("STATE-14", "ROLE-5"),
            id="voted for another",
        ),
        pytest.param(
            stored(5, leader=9, voted=3),
            unattached(epoch=5, leader=9, voted=3, until=1000),
            "knows no leader to follow",
            marks=pytest.mark.rule("STATE-13", "GEN-11", "ROLE-6"),
            id="a leader of unknown address",
        ),
    ],
)
@pytest.mark.rule("ROLE-13")
def test_node_starts_unattached_and_looks_for_the_leader(state: ElectionState, role: Role, reason: str) -> None:
    node = starting(state)

    effects = node.handle(Started(), now_ms=0)

    assert effects == [becomes(role, was=NOBODY, reason=reason), sends(our_fetch(epoch=5), to=2)]
    assert node.role == role


@pytest.mark.rule("STATE-13", "ROLE-5", "STATE-3", "ROLE-13")
@pytest.mark.parametrize("voted", [None, 3, 1], ids=["not voted", "voted for another", "voted for itself"])
def test_node_starts_as_follower_of_a_stored_leader_and_keeps_its_vote(voted: int | None) -> None:
    node = starting(stored(5, leader=2, voted=voted))

    effects = node.handle(Started(), now_ms=0)

    role = follower(of=2, epoch=5, voted=voted, until=2000)
    assert effects == [
        becomes(role, was=NOBODY, reason="knows the leader of this epoch"),
        sends(our_fetch(epoch=5), to=2),
    ]
    assert node.role == role


@pytest.mark.rule("STATE-10", "STATE-16", "ROLE-4")
@pytest.mark.parametrize(
    "state", [stored(2), stored(2, leader=1, voted=1), stored(2, voted=1)], ids=["plain", "led", "stood"]
)
def test_node_starts_at_the_epoch_of_its_log_when_that_is_later(state: ElectionState) -> None:
    node = starting(state)

    effects = node.handle(Started(), now_ms=0)

    role = unattached(epoch=3, until=1000)
    reason = "the log has a later epoch than the stored state"
    assert effects == [stores(epoch=3), becomes(role, was=NOBODY, reason=reason), sends(our_fetch(epoch=3), to=2)]
    assert node.role == role


@pytest.mark.rule("STATE-11", "STATE-15", "SCENARIO-37", "ROLE-6")
@pytest.mark.parametrize("epoch", [3, 5], ids=["with records of its epoch", "with none"])
def test_leader_starts_resigned_in_its_epoch_and_sends_end_quorum_epoch_without_a_list(epoch: int) -> None:
    node = starting(stored(epoch, leader=1, voted=1))

    effects = node.handle(Started(), now_ms=0)

    role = resigned(epoch=epoch, until=1000, unacknowledged=(2, 3))
    announcement = our_end_request(epoch=epoch, successors=())
    assert effects == [
        becomes(role, was=NOBODY, reason="was the leader of this epoch when it stopped"),
        sends(announcement, to=2),
        sends(announcement, to=3, number=1),
    ]
    assert node.role == role


@pytest.mark.rule("STATE-12", "SCENARIO-38", "STATE-6", "VOTE-16")
def test_candidate_starts_as_candidate_of_the_same_epoch_and_sends_vote_again() -> None:
    node = starting(stored(5, voted=1))

    effects = node.handle(Started(), now_ms=0)

    role = candidate(epoch=5, until=1000)
    assert effects == [
        becomes(role, was=NOBODY, reason="was a candidate in this epoch when it stopped"),
        sends(vote_request(epoch=5, by=1, to=2), to=2),
        sends(vote_request(epoch=5, by=1, to=3), to=3, number=1),
    ]
    assert node.role == role


@pytest.mark.rule("STATE-12")
@pytest.mark.parametrize(
    ("voted", "stands"),
    [
        pytest.param(ReplicaKey(NodeId(1)), True, id="no disk stored"),
        pytest.param(ReplicaKey(NodeId(1), Uuid("disk-1")), True, id="this disk"),
        pytest.param(ReplicaKey(NodeId(1), Uuid("disk-0")), False, id="the id on another disk"),
    ],
)
def test_vote_for_itself_makes_a_candidate_only_of_the_same_disk(voted: ReplicaKey, stands: bool) -> None:
    node = starting(stored(5, voted=voted), a_config(voter_set_with_directories(), directory="disk-1"))

    node.handle(Started(), now_ms=0)

    assert node.role_name == ("Candidate" if stands else "Unattached")
    assert node.role.voted_key == (ReplicaKey(NodeId(1), Uuid("disk-1")) if stands else voted)


@pytest.mark.rule("ROLE-7", "STATE-13", "STATE-14")
def test_observer_starts_without_a_timer() -> None:
    for state, role in [
        (stored(5), unattached(epoch=5, until=None)),
        (stored(2), unattached(epoch=3, until=None)),
        (stored(5, leader=2), follower(of=2, epoch=5, until=None)),
    ]:
        node = starting(state, a_config((2, 3)))
        node.handle(Started(), now_ms=0)
        assert node.role == role


@pytest.mark.rule("ROLE-7")
@pytest.mark.parametrize(
    ("state", "deed"),
    [(stored(5, leader=1), "led"), (stored(5, voted=1), "was a candidate in")],
    ids=["led", "stood"],
)
def test_node_that_is_no_voter_refuses_to_start_when_it_stored_what_only_a_voter_does(
    state: ElectionState, deed: str
) -> None:
    node = starting(state, a_config((2, 3)))

    effects = node.handle(Started(), now_ms=0)

    reason = f"node 1 is not a voter of [2, 3], but its quorum-state says that it {deed} the last epoch"
    assert effects == [halts(HaltCause.NOT_A_VOTER, reason)]
    assert node.waits(until=9999) == []


# The only voter


@pytest.mark.rule("STATE-15", "STATE-5", "CONTROL-1", "CONTROL-2", "HW-7", "BOOT-3")
def test_only_voter_elects_itself_when_it_starts() -> None:
    node = not_started(None, config=a_config((1,)), log=a_log((), 0))

    effects = node.handle(Started(), now_ms=0)

    alone = tally(1, of=(1,))
    asking = prospective(epoch=0, until=1000, votes=alone)
    standing = candidate(epoch=1, until=1000, votes=alone)
    leading = leader(epoch=1, start=0)
    assert effects == [
        stores(epoch=0),
        becomes(asking, was=NOBODY, reason="only voter, elects itself"),
        stores(epoch=1, voted=1),
        becomes(standing, was=asking, reason="won pre-votes of [1]"),
        stores(epoch=1, leader=1, voted=1),
        becomes(leading, was=standing, reason="won with votes of [1]"),
        opens_epoch(1, at=0, granted_by=(1,), voters=(1,)),
        flushes(1),
    ]
    assert node.role == leading
    assert node.high_watermark is None
    assert node.has_flushed() == []
    assert node.high_watermark == 1


@pytest.mark.rule("STATE-15")
@pytest.mark.parametrize(
    ("state", "leads"),
    [
        pytest.param(stored(5), 6, id="a plain epoch: the next"),
        pytest.param(stored(5, voted=3), 6, id="a vote for another: the next"),
        pytest.param(stored(5, leader=1, voted=1), 6, marks=pytest.mark.rule("STATE-11"), id="it led: the next"),
        pytest.param(stored(5, voted=1), 5, id="it was a candidate: the same"),
        pytest.param(
            stored(2), 4, marks=pytest.mark.rule("STATE-10"), id="an older epoch than the log's: the log's next"
        ),
    ],
)
def test_only_voter_never_leads_an_epoch_twice(state: ElectionState, leads: int) -> None:
    node = starting(state, a_config((1,)))

    node.handle(Started(), now_ms=0)

    assert (node.role_name, node.core.epoch) == ("Leader", leads)


@pytest.mark.rule("STATE-11", "STATE-15", "ROLE-6")
@pytest.mark.parametrize("leader_id", [1, 9], ids=["it led", "another led, before the voter set shrank"])
def test_only_voter_writes_its_next_epoch_before_it_forgets_the_leader_of_the_last(leader_id: int) -> None:
    node = starting(stored(5, leader=leader_id, voted=1), a_config((1,)))

    effects = node.handle(Started(), now_ms=0)

    written = [effect for effect in effects if isinstance(effect, StoreElectionState)]
    assert written == [stores(epoch=6, voted=1), stores(epoch=6, leader=1, voted=1)]


# Which nodes it fetches from to find the leader


@pytest.mark.rule("BOOT-9", "BOOT-4", "BOOT-5")
def test_node_fetches_from_a_random_bootstrap_server_of_unknown_id() -> None:
    servers = tuple(Endpoint(f"server-{number}", 9092) for number in range(3))
    sides = []

    def draw(n: int) -> int:
        sides.append(n)
        return 1

    node = not_started(stored(5), config=a_config((2, 3), bootstrap_servers=servers), draw=draw)

    effects = node.handle(Started(), now_ms=0)

    assert effects[-1] == sends(our_fetch(epoch=5), to=-3, at=servers[1])
    assert sides[-1] == 3


@pytest.mark.rule("BOOT-5", "BOOT-6", "GEN-11", "FETCH-20")
def test_observer_fetches_from_the_next_server_and_follows_the_leader_it_names() -> None:
    servers = (Endpoint("server-0", 9092), Endpoint("server-1", 9092))
    node = starting(stored(5), a_config((2, 3), bootstrap_servers=servers))
    node.handle(Started(), now_ms=0)

    effects = node.fails_to_reach(-2, now_ms=10)
    assert effects == [sends(our_fetch(epoch=5), to=-3, at=servers[1], number=1)]

    node.gets(fetch_response(epoch=6, leader=9, error=6), of=-3, now_ms=20)
    assert node.role == follower(of=9, epoch=6, until=None)


# What others may read


def test_core_shows_its_own_id_and_its_leader() -> None:
    node = starting(stored(5, leader=2))
    node.handle(Started(), now_ms=0)

    core = node.core
    assert (core.node_id, core.epoch, core.leader_id, core.leader_endpoints) == (1, 5, 2, (endpoint(2),))
    assert (core.log.end_offset, core.durable_end, core.high_watermark) == (10, 10, None)
    assert (core.durable_high_watermark, core.producers_image().end_offset) == (0, 10)


# The first event


def test_event_before_the_start_is_a_programming_error() -> None:
    node = starting(stored(5))

    with pytest.raises(AssertionError, match="Started comes first, and once"):
        node.waits(until=0)


def test_second_start_is_a_programming_error() -> None:
    node = starting(stored(5))
    node.handle(Started(), now_ms=0)

    with pytest.raises(AssertionError, match="Started comes first, and once"):
        node.handle(Started(), now_ms=10)
