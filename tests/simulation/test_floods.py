"""Requests take processor time, connections have turns, and a flood delays others by little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.runtime.turns import Standing
from raft.types import CleanupPolicy
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.event_loop import EventLoop
from tests.simulation.faultless import faultless_plan, leader_of, run_a_while
from tests.simulation.faults.floods import SHAPES, Flood, Shape
from tests.simulation.faults.kinds import Fault
from tests.simulation.flood_check import flood_leader
from tests.simulation.inbound import Received
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark
from tests.simulation.plan import ClockPlan
from tests.simulation.processor import Processor
from tests.simulation.timeline import Timeline
from tests.simulation.world import World

_FLOOD_MS = 100
_CLIENT = -900
_QUIET = ClockPlan(ahead_ms=0, drift=(0, 0), busy_percent=0, busy_ms=(0, 0), request_us=(0, 0))


@pytest.fixture
def flooded_world() -> World:
    """Three voters in whose plan there are floods; none has begun."""
    plan = faultless_plan()
    plan = replace(
        plan,
        snapshots=replace(plan.snapshots, policy=CleanupPolicy.NONE),
        clocks=replace(plan.clocks, busy_percent=0, request_us=(50, 300)),
        faults=replace(plan.faults, every_ms={Fault.FLOOD: 1_000_000}),
    )
    world = World(plan, max_log_lines=0)
    world.begin()
    run_a_while(world)
    return world


def _connection(world: World, machine: Machine) -> AcceptedConnection:
    return world.post_office.new_connection(_CLIENT, machine.node_id, None)


def test_processor_is_busy_until_the_time_has_passed_that_was_used() -> None:
    timeline = Timeline()
    processor = Processor(timeline)
    processor.use(700)
    begun = processor.is_busy, processor.passed_us
    processor.use(1_800)
    busy = processor.is_busy, processor.free_ms, processor.passed_us

    timeline.run(2)

    assert begun == (False, 0)
    assert busy == (True, 2, 0)
    assert (processor.is_busy, processor.passed_us, processor.used_us) == (False, 2_000, 2_500)


def test_processor_that_was_idle_has_no_credit() -> None:
    timeline = Timeline()
    processor = Processor(timeline)
    timeline.run(50)

    processor.use(3_000)

    assert processor.free_ms == 53


def test_event_loop_runs_no_action_while_its_processor_is_busy() -> None:
    timeline, done = Timeline(), list[tuple[str, int]]()
    clock = Clock(timeline, ahead_ms=0, drift=0)
    loop = EventLoop(timeline, clock, timer_grain_ms=1, rank=1, plan=_QUIET, dice=Dice(1, "loop"))
    loop.idle = lambda: done.append(("idle", timeline.now_ms))
    loop.soon(lambda: loop.use(2_400))

    loop.soon(lambda: done.append(("action", timeline.now_ms)))
    timeline.run(10)

    assert done == [("action", 2), ("idle", 2)]


@pytest.mark.rule("SHARE-4")
def test_connection_is_not_read_while_requests_wait_and_is_read_again(flooded_world: World) -> None:
    leader = leader_of(flooded_world)
    process, begun = leader.process, list[str]()
    assert process is not None
    inbound = process.inbound(_connection(flooded_world, leader))
    inbound.deliver([Received(lambda: begun.append("first"))] * 100)

    inbound.deliver([Received(lambda: begun.append("later"))])
    flooded_world.timeline.run(flooded_world.timeline.now_ms + _FLOOD_MS)

    assert begun == ["first"] * 100 + ["later"]
    assert flooded_world.marks.counts[Mark.CONNECTION_NOT_READ] > 0
    assert flooded_world.marks.counts[Mark.CONNECTION_READ_AGAIN] > 0


def test_connection_that_has_ended_begins_no_request(flooded_world: World) -> None:
    leader = leader_of(flooded_world)
    process, begun = leader.process, list[int]()
    assert process is not None
    inbound = process.inbound(_connection(flooded_world, leader))
    inbound.deliver([Received(lambda: begun.append(1))] * 20)

    inbound.close()
    at_the_end = len(begun)
    inbound.deliver([Received(lambda: begun.append(1))])
    flooded_world.timeline.run(flooded_world.timeline.now_ms + _FLOOD_MS)

    assert len(begun) == at_the_end < 20
    assert not inbound.has_requests
    assert inbound not in process.waiting.with_work


def test_connection_of_a_voter_stands_before_those_of_clients(flooded_world: World) -> None:
    leader = leader_of(flooded_world)
    assert leader.process is not None
    accepted = _connection(flooded_world, leader)
    inbound = leader.process.inbound(accepted)
    before = inbound.standing

    accepted.is_peer = True

    assert (before, inbound.standing) == (Standing.KNOWN, Standing.VOTER)


@pytest.mark.parametrize("shape", SHAPES)
def test_flood_uses_the_processor_of_its_node_without_a_pause(flooded_world: World, shape: Shape) -> None:
    leader, timeline = leader_of(flooded_world), flooded_world.timeline
    assert leader.process is not None
    flood, used_ms = Flood(leader, shape, flooded_world.targets), leader.process.clients_ms

    flood.begin()
    timeline.run(timeline.now_ms + _FLOOD_MS)
    flood.end()
    served = flooded_world.marks.counts[Mark.FLOODING_REQUEST_SERVED]
    # What waits when the node learns of the end is dropped.
    timeline.run(timeline.now_ms + 5)
    later = flooded_world.marks.counts[Mark.FLOODING_REQUEST_SERVED]
    timeline.run(timeline.now_ms + _FLOOD_MS)

    assert leader.process.clients_ms - used_ms > 0.9 * _FLOOD_MS
    assert served > 0
    assert flooded_world.marks.counts[Mark.FLOODING_REQUEST_SERVED] == later


@pytest.mark.rule("SHARE-1", "SHARE-2", "SHARE-3")
def test_leader_stays_and_appends_are_acknowledged_when_clients_flood_it(flooded_world: World) -> None:
    leader = leader_of(flooded_world)
    epoch = leader.core.epoch

    flood_leader(flooded_world, leader)

    assert flooded_world.marks.counts[Mark.FLOODING_REQUEST_SERVED] > 1_000
    assert leader.is_leader
    assert leader.core.epoch == epoch


def test_check_of_floods_reports_an_append_that_is_not_acknowledged(flooded_world: World) -> None:
    leader = leader_of(flooded_world)
    nodes = [machine.node_id for machine in flooded_world.machines]
    flooded_world.network.cut((one, other) for one in nodes for other in nodes)

    with pytest.raises(BrokenInvariantError, match="FloodDelaysAppendsByLittle"):
        flood_leader(flooded_world, leader)
