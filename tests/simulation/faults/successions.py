"""Leaders that are replaced in quick succession."""

from __future__ import annotations

from itertools import product

from raft.types import Epoch, NodeId
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.marks import Mark
from tests.simulation.network import Links

_CHECK_EVERY_MS = 10
_LEADERSHIP_MS = (0, 120)
_LEADERS = (2, 6)


class Successions(Nemesis):
    """Cuts each new leader off from the other nodes, and mends the links of the one before.

    So the uncommitted tails of several epochs pile up in different logs, as in figure 8 of the Raft paper.
    """

    kind = Fault.SUCCESSION

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._leaders_left = 0
        self._last_epoch = Epoch(0)
        self._cut: Links = frozenset()

    def _strike(self) -> bool:
        is_under_way = self._leaders_left > 0
        self._leaders_left = self._dice.between(_LEADERS)
        if not is_under_way:
            self._check()
        return True

    def _check(self) -> None:
        targets = self._targets
        if self._is_over:
            return
        newest = max(targets.leaders, key=lambda machine: machine.core.epoch, default=None)
        if newest is not None and newest.core.epoch > self._last_epoch:
            self._last_epoch = newest.core.epoch
            self._leaders_left -= 1
            leader_id = newest.node_id
            targets.timeline.after(self._dice.between(_LEADERSHIP_MS), lambda: self._depose(leader_id))
        if self._leaders_left > 0:
            targets.timeline.after(_CHECK_EVERY_MS, self._check)
        else:
            targets.timeline.after(targets.plan.timeouts.round_ms, lambda: targets.network.mend(self._cut))

    def _depose(self, leader_id: NodeId) -> None:
        targets = self._targets
        if self._is_over:
            return
        others = [machine.node_id for machine in targets.machines if machine.node_id != leader_id]
        targets.marks.count(Mark.SHORT_LEADERSHIP)
        targets.run_log.add("network", "cuts leader %s off, and mends the links of the one before", leader_id)
        targets.network.mend(self._cut)
        self._cut = targets.network.cut([*product([leader_id], others), *product(others, [leader_id])])
