"""The parts of a world that all its machines share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.simulation.marks import Marks
from tests.simulation.plan import Plan
from tests.simulation.run_log import RunLog
from tests.simulation.timeline import Timeline

if TYPE_CHECKING:
    from tests.simulation.committed_log import CommittedLog
    from tests.simulation.invariants.watch import Watch
    from tests.simulation.machine import Machine
    from tests.simulation.post_office import PostOffice


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The world as a machine sees it.

    Fields:
        plan: the plan of the run.
        timeline: virtual time.
        run_log: the log of the run.
        marks: the coverage marks.
        watch: receives the events of the nodes.
        committed: what is committed.
        post_office: carries requests and responses.
        went_down: called for every machine that stops, whatever the reason.
        allows_halts: whether a node may halt; if not, a halt is a broken invariant.
    """

    plan: Plan
    timeline: Timeline
    run_log: RunLog
    marks: Marks
    watch: Watch
    committed: CommittedLog
    post_office: PostOffice
    went_down: Callable[[Machine], None]
    allows_halts: bool
