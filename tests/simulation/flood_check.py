"""The check of the recovery phase that a flood of requests changes no leader, and delays appends by little."""

from __future__ import annotations

from tests.simulation.broken import BrokenInvariantError
from tests.simulation.dice import Dice
from tests.simulation.faults.floods import draw_flood
from tests.simulation.faults.kinds import Fault
from tests.simulation.machine import Machine
from tests.simulation.world import World

_BEFORE_APPEND_MS = 20
_APPEND_MS = 1_500
"""An append has to be acknowledged within this time. Its client looks for the leader first."""


def flood_leader(world: World, leader: Machine) -> None:
    """Flood a leader for longer than the fetch timeout of its followers, and append records meanwhile.

    Only plans with floods do that. The caller checks that the leader stays.

    Raises:
        BrokenInvariantError: the append is not acknowledged in time.
    """
    plan, timeline = world.plan, world.timeline
    if Fault.FLOOD not in plan.faults.every_ms:
        return
    ends_ms = timeline.now_ms + plan.timeouts.fetch_ms + plan.timeouts.fetch_spread_ms
    world.run_log.add("clients", "flood %s, while records are appended", leader)
    flood = draw_flood(leader, world.targets, Dice(plan.seed, "flood of the leader"))
    flood.begin()
    timeline.run(timeline.now_ms + _BEFORE_APPEND_MS)
    writer = world.append_once("during the flood")
    due_ms = timeline.now_ms + _APPEND_MS
    while writer.has_unsettled:
        if timeline.now_ms > due_ms:
            detail = f"{leader}: an append is not acknowledged within {_APPEND_MS} ms of a flood"
            raise BrokenInvariantError("FloodDelaysAppendsByLittle", ("SHARE-1", "SHARE-2", "SHARE-3"), detail)
        timeline.run(timeline.now_ms + 1)
    timeline.run(ends_ms)
    flood.end()
