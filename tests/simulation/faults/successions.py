"""Leaders that follow each other too fast."""

from __future__ import annotations

from itertools import product

from raft.types import Epoch, NodeId
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.marks import Mark
from tests.simulation.network import Links

_LOOK_EVERY_MS = 10
_LEADERSHIP_MS = (0, 120)
_LEADERS = (2, 6)


class Successions(Nemesis):
    """Cuts each new leader off from the other nodes as soon as it leads, and lets the one before come back.

    What leaders leave uncommitted grows into layers in this way, and each of several logs is the best by some measure:
    the case of figure 8 in the paper on Raft.
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
            self._look()
        return True

    def _look(self) -> None:
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
            targets.timeline.after(_LOOK_EVERY_MS, self._look)
        else:
            targets.timeline.after(targets.plan.timeouts.round_ms, lambda: targets.network.mend(self._cut))

    def _depose(self, leader_id: NodeId) -> None:
        targets = self._targets
        if self._is_over:
            return
        others = [machine.node_id for machine in targets.machines if machine.node_id != leader_id]
        targets.marks.count(Mark.SHORT_LEADERSHIP)
        targets.story.tell("network", "cuts leader %s off, and mends what was cut before", leader_id)
        targets.network.mend(self._cut)
        self._cut = targets.network.cut([*product([leader_id], others), *product(others, [leader_id])])
