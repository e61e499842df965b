"""What all machines of a world share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.marks import Marks
from tests.simulation.plan import Plan
from tests.simulation.story import Story
from tests.simulation.timeline import Timeline

if TYPE_CHECKING:
    from tests.simulation.invariants.watch import Watch
    from tests.simulation.machine import Machine
    from tests.simulation.post_office import PostOffice


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The world as a machine sees it.

    Fields:
        post_office: the way to other nodes.
        went_down: told of every machine that stops, whatever the reason.
        allows_halts: whether a node may halt; if not, that is a broken invariant.
    """

    plan: Plan
    timeline: Timeline
    story: Story
    marks: Marks
    watch: Watch
    post_office: PostOffice
    went_down: Callable[[Machine], None]
    allows_halts: bool
