"""The parts of a world that all its machines share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from raft.security.rules import Rules
from raft.types import NodeId
from tests.simulation.marks import Marks
from tests.simulation.plan import Plan
from tests.simulation.run_log import RunLog
from tests.simulation.timeline import Timeline

if TYPE_CHECKING:
    from tests.simulation.committed_log import CommittedLog
    from tests.simulation.invariants.watch import Watch
    from tests.simulation.machine import Machine
    from tests.simulation.post_office import PostOffice
    from tests.simulation.security.access import AccessControl


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
        access: the users of the run and their rights; None in a plan without security.
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
    access: AccessControl | None

    def rules_of(self, node_id: NodeId) -> Callable[[], Rules] | None:
        """Return a function that returns the present rules of a node; None in a plan without security."""
        if self.access is None:
            return None
        gate = self.access.gates[node_id]
        gate.renew()
        return lambda: gate.known.rules
