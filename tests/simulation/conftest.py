"""A world at peace for those who disturb it, and the table of planted bugs at the end of the run."""

from __future__ import annotations

import pytest

from tests.simulation.mutations.summary import pytest_terminal_summary
from tests.simulation.peace import pass_a_while, peaceful_plan
from tests.simulation.world import World

__all__ = ["pytest_terminal_summary"]


@pytest.fixture
def world() -> World:
    """Three voters that have led their life for a while, in peace; clients write and read."""
    world = World(peaceful_plan(), remembered_lines=0)
    world.begin()
    pass_a_while(world)
    return world
