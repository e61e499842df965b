"""What all machines of a world share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.plan import Plan
from tests.simulation.sightings import Sightings
from tests.simulation.story import Story
from tests.simulation.timeline import Timeline

if TYPE_CHECKING:
    from tests.simulation.invariants.watch import Watch
    from tests.simulation.machine import Machine
    from tests.simulation.process import Outbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world as a machine sees it.

    Fields:
        outbox: the way to other nodes.
        went_down: told of every machine that stops, whatever the reason.
    """

    plan: Plan
    timeline: Timeline
    story: Story
    sightings: Sightings
    watch: Watch
    outbox: Outbox
    went_down: Callable[[Machine], None]
