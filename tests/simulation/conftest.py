"""A world without faults, and the table of planted bugs at the end of the tests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.types import CleanupPolicy
from tests.simulation.faultless import faultless_plan, run_a_while
from tests.simulation.mutations.summary import pytest_terminal_summary
from tests.simulation.world import World

__all__ = ["pytest_terminal_summary"]


@pytest.fixture
def world() -> World:
    """Three voters that have run for some time without faults, while clients write and read."""
    plan = faultless_plan()
    world = World(replace(plan, snapshots=replace(plan.snapshots, policy=CleanupPolicy.NONE)), max_log_lines=0)
    world.begin()
    run_a_while(world)
    return world
