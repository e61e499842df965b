"""Users and intruders on a secured quorum without faults: they do what they claim, and the quorum works."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from tests.simulation.accepted import ClientConnection
from tests.simulation.dice import Dice
from tests.simulation.faultless import follower_of, leader_of, run_a_while, secured_plan
from tests.simulation.faults.conversation import Conversation, Script, prove
from tests.simulation.faults.intruder_requests import Draft, Insight, fetch, list_offsets, metadata, produce
from tests.simulation.faults.kinds import Fault
from tests.simulation.marks import Mark
from tests.simulation.plan import Plan
from tests.simulation.run import carry_out
from tests.simulation.security.access import AccessControl
from tests.simulation.security.mechanisms import PLAIN, SCRAM
from tests.simulation.security.refusals import errors_in
from tests.simulation.security.rights import Right
from tests.simulation.security.users import NOBODY, QUERY, READER, REPORTS, user_of
from tests.simulation.starting import endpoint_of
from tests.simulation.world import World

_ADDRESS = -3_000
_SOON_MS = 2_000
_MESSAGES = {PLAIN: 1, SCRAM: 2}


def _run(plan: Plan) -> World:
    world = World(plan, max_log_lines=0)
    world.begin()
    run_a_while(world)
    return world


@pytest.fixture(params=[PLAIN, SCRAM])
def secured_world(request: pytest.FixtureRequest) -> World:
    """Three voters and an observer that have run for some time, while clients write and read."""
    return _run(secured_plan(request.param))


def _access(world: World) -> AccessControl:
    assert world.access is not None, "the plan is secured"
    return world.access


def _ask(world: World, user: str | None, *drafts: Draft) -> list[Message]:
    """Send requests to the leader, one after the other, as a user or without a name; return the responses."""
    responses: list[Message] = []
    access, mechanism = _access(world), world.plan.security.mechanism
    identity = None if user is None else access.user(user)

    def script() -> Script:
        if identity is not None:
            yield from prove(identity.authenticator(), last=_MESSAGES[mechanism])
        for draft in drafts:
            response = yield [draft]
            assert response is not None, "only a pause has no response"
            responses.append(response)

    passwords = {} if identity is None else {identity.user: identity.password}
    Conversation(
        _ADDRESS,
        endpoint_of(leader_of(world).node_id),
        ClientConnection(passwords, copied_by=None),
        script(),
        post_office=world.post_office,
        timeline=world.timeline,
    ).go_on()
    world.timeline.run(world.timeline.now_ms + _SOON_MS)
    return responses


def _insight(world: World) -> Insight:
    plan = world.plan
    nodes = (*plan.voters, *plan.observers)
    return Insight(core=leader_of(world).core, voters=plan.voters, nodes=nodes, dice=Dice(1, "any"))


def test_secured_quorum_serves_its_clients_and_nodes(secured_world: World) -> None:
    assert secured_world.committed.end_offset > 10
    assert all(machine.log.end_offset > 10 for machine in secured_world.machines)
    assert all(reader.end_offset for reader in secured_world.readers)
    assert not secured_world.marks.counts[Mark.CLIENT_WITHOUT_RIGHT_REFUSED]
    assert not secured_world.marks.counts[Mark.OTHER_NAME_REFUSED]


@pytest.mark.rule("AUTH-4")
def test_leader_closes_the_connection_when_a_request_comes_without_a_name(secured_world: World) -> None:
    responses = _ask(secured_world, None, fetch(_insight(secured_world)))

    assert responses == []
    assert secured_world.marks.counts[Mark.REQUEST_BEFORE_AUTHENTICATION] == 1


@pytest.mark.rule("ACL-2", "ACL-4")
def test_leader_refuses_requests_when_the_user_has_no_right(secured_world: World) -> None:
    insight = _insight(secured_world)

    responses = _ask(secured_world, NOBODY, fetch(insight), list_offsets(insight))

    assert [max(errors_in(response)) for response in responses] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 2


@pytest.mark.rule("ACL-2")
def test_leader_serves_requests_when_the_user_has_the_right(secured_world: World) -> None:
    insight = _insight(secured_world)

    responses = _ask(secured_world, REPORTS, fetch(insight), metadata(insight))

    assert [max(errors_in(response)) for response in responses] == [ErrorCode.NONE] * 2


@pytest.mark.rule("AUTH-9")
@pytest.mark.parametrize(
    ("forgetful_percent", "mark"), [(0, Mark.NODE_AUTHENTICATED_AGAIN), (100, Mark.NODE_FORGOT_ITS_SESSION)]
)
def test_nodes_authenticate_again_unless_they_are_forgetful(forgetful_percent: int, mark: Mark) -> None:
    world = _run(secured_plan(PLAIN, max_reauth_ms=500, forgetful_percent=forgetful_percent))

    reached = {
        each for each in (Mark.NODE_AUTHENTICATED_AGAIN, Mark.NODE_FORGOT_ITS_SESSION) if world.marks.counts[each]
    }
    assert reached == {mark}
    assert world.marks.counts[Mark.CLIENT_AUTHENTICATED_AGAIN]
    assert world.committed.end_offset > 10


@pytest.mark.rule("AUTH-11")
def test_open_connections_are_served_when_a_user_is_removed_and_new_ones_are_not() -> None:
    world = _run(secured_plan(SCRAM))
    _access(world).remove_user(QUERY)
    run_a_while(world)

    responses = _ask(world, QUERY, produce(_insight(world)))

    assert responses == []
    assert world.marks.counts[Mark.REMOVED_USER_STAYED]
    assert world.marks.counts[Mark.REMOVED_USER_REFUSED]


@pytest.mark.rule("AUTH-6", "ERROR-5")
def test_node_whose_user_is_removed_comes_back_when_it_is_added_again() -> None:
    world = _run(secured_plan(SCRAM))
    follower = follower_of(world)
    _access(world).remove_user(user_of(follower.node_id, world.plan))
    world.keep_down(frozenset([follower.node_id]))
    run_a_while(world)
    world.keep_down(frozenset())
    run_a_while(world)
    behind = follower.log.end_offset

    _access(world).add_user(user_of(follower.node_id, world.plan))
    run_a_while(world)

    assert world.marks.counts[Mark.REMOVED_NODE_REFUSED]
    assert follower.log.end_offset > behind


@pytest.mark.rule("AUTH-11", "ACL-1")
def test_right_is_taken_from_an_open_connection_and_given_back(secured_world: World) -> None:
    access = _access(secured_world)
    access.take_right(READER, Right.READ)
    run_a_while(secured_world)
    taken = secured_world.marks.counts[Mark.RIGHT_TAKEN_ON_OPEN_CONNECTION]

    access.give_right(READER, Right.READ)
    run_a_while(secured_world)

    assert taken
    assert secured_world.marks.counts[Mark.RIGHT_GIVEN_ON_OPEN_CONNECTION]


def test_proof_that_breaks_off_is_made_again() -> None:
    plan = secured_plan(SCRAM)

    world = _run(replace(plan, security=replace(plan.security, broken_percent=30)))

    assert world.marks.counts[Mark.AUTHENTICATION_INTERRUPTED]
    assert world.committed.end_offset > 10


@pytest.mark.parametrize("fault", [Fault.INTRUDER, Fault.REVOCATION])
def test_no_intruder_strikes_when_the_quorum_is_not_secured(fault: Fault) -> None:
    plan = secured_plan(PLAIN)
    faults = replace(plan.faults, every_ms={fault: 200})

    secured = carry_out(replace(plan, faults=faults), max_events=2_000)
    open_to_all = carry_out(
        replace(plan, faults=faults, security=replace(plan.security, is_secured=False)), max_events=2_000
    )

    assert secured.broken is None
    assert secured.strikes[fault]
    assert not open_to_all.strikes[fault]
