"""A quorum that is left in peace: what happens to it, a test does itself."""

from __future__ import annotations

from dataclasses import replace

from raft.core.roles import Follower
from raft.types import NodeId
from tests.simulation.drawing import draw_plan
from tests.simulation.machine import Machine
from tests.simulation.plan import CALM_NETWORK, Plan, WirePlan
from tests.simulation.world import World

_A_WHILE_MS = 6_000


def calm_plan() -> Plan:
    """Return the plan of three voters to whom nothing happens; their patience with a leader is short, that with a
    request long.
    """
    plan = draw_plan(0)
    return replace(
        plan,
        voters=(NodeId(1), NodeId(2), NodeId(3)),
        observers=(),
        timeouts=replace(plan.timeouts, election_ms=300, fetch_ms=800, request_ms=2000),
        network=CALM_NETWORK,
        wire=WirePlan(old_nodes=(), has_dead_address=False),
        faults=replace(plan.faults, every_ms={}),
    )


def run_a_while(world: World) -> None:
    """Let time pass, enough for anything that two or three elections can bring about."""
    world.timeline.run(world.timeline.now_ms + _A_WHILE_MS)


def leader_of(world: World) -> Machine:
    """The one that leads."""
    return next(machine for machine in world.machines if machine.is_leader)


def follower_of(world: World) -> Machine:
    """One of those that follow."""
    return next(machine for machine in world.machines if isinstance(machine.core.role, Follower))
