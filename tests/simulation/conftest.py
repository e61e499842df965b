"""A world at peace for those who disturb it, and the table of planted bugs at the end of the run."""

from __future__ import annotations

import pytest

from tests.simulation.calm import calm_plan, run_a_while
from tests.simulation.mutations.summary import pytest_terminal_summary
from tests.simulation.world import World

__all__ = ["pytest_terminal_summary"]


@pytest.fixture
def world() -> World:
    """Three voters that have led their life for a while, in peace; clients write and read."""
    world = World(calm_plan(), remembered_lines=0)
    world.begin()
    run_a_while(world)
    return world
