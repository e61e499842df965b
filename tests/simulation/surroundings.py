"""What all machines of a world share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from raft.core import CoreConfig, RaftCore
from raft.core.config import Draw
from raft.core.log_view import LogView
from raft.types import ElectionState
from raft.writers import WriterTable
from tests.simulation.plan import Plan
from tests.simulation.sightings import Sightings
from tests.simulation.story import Story
from tests.simulation.timeline import Timeline

if TYPE_CHECKING:
    from tests.simulation.invariants.watch import Watch
    from tests.simulation.machine import Machine
    from tests.simulation.process import Outbox


class CoreFactory(Protocol):
    """Makes a core; `RaftCore` itself is one."""

    def __call__(
        self, config: CoreConfig, *, stored: ElectionState | None, log: LogView, writers: WriterTable, draw: Draw
    ) -> RaftCore:
        """Make a core from what was found on the disk."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world as a machine sees it.

    Fields:
        outbox: the way to other nodes.
        make_core: how a life gets its core.
        went_down: told of every machine that stops, whatever the reason.
    """

    plan: Plan
    timeline: Timeline
    story: Story
    sightings: Sightings
    watch: Watch
    outbox: Outbox
    make_core: CoreFactory
    went_down: Callable[[Machine], None]
