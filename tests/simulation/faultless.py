"""A world without faults, for tests that cause faults themselves."""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import SendRequest
from raft.core.messages import OutgoingRequest
from raft.core.roles import Follower
from raft.types import CleanupPolicy, NodeId
from tests.simulation.drawing import draw_plan
from tests.simulation.machine import Machine
from tests.simulation.plan import NOT_SECURED, RELIABLE_NETWORK, Plan, WirePlan
from tests.simulation.starting import endpoint_of
from tests.simulation.world import World

_SOME_ELECTIONS_MS = 6_000
_FIRST_NUMBER = 1_000_000
"""The requests of a core in a short run have lower numbers."""


def faultless_plan() -> Plan:
    """Return the plan of three voters without faults. The fetch timeout is shorter than the request timeout."""
    plan = draw_plan(0)
    return replace(
        plan,
        voters=(NodeId(1), NodeId(2), NodeId(3)),
        observers=(),
        timeouts=replace(plan.timeouts, election_ms=300, fetch_ms=800, request_ms=2000),
        network=RELIABLE_NETWORK,
        wire=WirePlan(old_nodes=(), has_dead_address=False),
        faults=replace(plan.faults, every_ms={}),
        security=NOT_SECURED,
    )


def secured_plan(mechanism: str, *, max_reauth_ms: int = 0, forgetful_percent: int = 0) -> Plan:
    """Return the same plan with users and rules, and a log without snapshots."""
    security = replace(
        NOT_SECURED,
        is_secured=True,
        mechanism=mechanism,
        max_reauth_ms=max_reauth_ms,
        forgetful_percent=forgetful_percent,
    )
    plan = faultless_plan()
    snapshots = replace(plan.snapshots, policy=CleanupPolicy.NONE)
    return replace(plan, observers=(NodeId(4),), late_starts_ms={}, snapshots=snapshots, security=security)


def run_a_while(world: World) -> None:
    """Let enough time pass for two or three elections."""
    world.timeline.run(world.timeline.now_ms + _SOME_ELECTIONS_MS)


def leader_of(world: World) -> Machine:
    """Return the machine that leads."""
    return next(machine for machine in world.machines if machine.is_leader)


def follower_of(world: World) -> Machine:
    """Return the first machine that follows."""
    return next(machine for machine in world.machines if isinstance(machine.core.role, Follower))


def send(world: World, sender: Machine, receiver: Machine, request: OutgoingRequest, number: int = 0) -> int:
    """Send a request that the core of the sender has not ordered, but waits for; return its number, which is new.

    Args:
        world: the world.
        sender: the machine of the sender.
        receiver: the machine of the node that the sender means.
        request: the request.
        number: tells it from the other ones that were sent by this function.
    """
    number += _FIRST_NUMBER
    process = sender.process
    assert process is not None, f"{sender} is down"
    process.core.expects_also.add(number)
    order = SendRequest(
        number=number, node_id=receiver.node_id, endpoint=endpoint_of(receiver.node_id), request=request
    )
    world.post_office.send(process, order)
    return number
