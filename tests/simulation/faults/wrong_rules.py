"""Rules that do not name the users of nodes: those of one voter, or those of all voters about one node."""

from __future__ import annotations

from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets


class WrongRules(Nemesis):
    """Makes the rules of one voter refuse all other nodes for some time, or those of all voters refuse one node.

    It is always the same voter, or the same node. So only a node that all voters refuse may stop (ERROR-6).
    """

    kind = Fault.WRONG_RULES

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        plan = targets.plan
        self._is_by_one_voter = bool(self._dice.draw(2))
        nodes = plan.voters if self._is_by_one_voter else (*plan.voters, *plan.observers)
        self._node = self._dice.pick(nodes)

    def _strike(self) -> bool:
        access, plan = self._targets.access, self._targets.plan
        if access is None or len(plan.voters) == 1 or access.has_wrong_rules:
            return False
        duration_ms = self._dice.between(plan.faults.partition_ms)
        everyone = (*plan.voters, *plan.observers)
        if self._is_by_one_voter:
            self._targets.run_log.add("rules", "of node %s refuse all nodes for %s ms", self._node, duration_ms)
            access.refuse_nodes(everyone, at=(self._node,))
        else:
            self._targets.run_log.add("rules", "of all nodes refuse node %s for %s ms", self._node, duration_ms)
            access.refuse_nodes((self._node,), at=everyone)
        self._targets.timeline.after(duration_ms, access.refuse_no_nodes)
        return True
