"""Leaders that are suspended, and go on after others have taken their place."""

from __future__ import annotations

from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark
from tests.simulation.process import Process

_CHECK_EVERY_MS = 10
_LONGEST_ROUNDS = 4
_AFTER_MS = (0, 300)


class Suspensions(Nemesis):
    """Suspends a leader until another one has committed records; then the old one finds old requests in its sockets."""

    kind = Fault.SUSPENSION

    def __init__(self, targets: Targets) -> None:
        super().__init__(targets)
        self._suspended: Process | None = None
        self._until_ms = 0

    def _strike(self) -> bool:
        targets = self._targets
        if self._suspended is not None or not targets.leaders:
            return False
        victim = self._dice.pick(targets.leaders)
        assert victim.process is not None, "a leader runs"
        self._suspended = victim.process
        self._until_ms = targets.timeline.now_ms + _LONGEST_ROUNDS * targets.plan.timeouts.round_ms
        targets.run_log.add(str(victim), "is suspended until another leader has committed records")
        self._suspended.stall(self._until_ms)
        self._check(victim)
        return True

    def _check(self, victim: Machine) -> None:
        targets, suspended = self._targets, self._suspended
        if victim.process is not suspended or suspended is None or targets.timeline.now_ms >= self._until_ms:
            self._suspended = None
        elif any(leader.core.epoch > victim.core.epoch and self._has_committed(leader) for leader in targets.leaders):
            targets.timeline.after(self._dice.between(_AFTER_MS), lambda: self._wake(victim))
        else:
            targets.timeline.after(_CHECK_EVERY_MS, lambda: self._check(victim))

    def _has_committed(self, leader: Machine) -> bool:
        """Whether a leader has committed a record of its epoch, before which clients get no offsets from it."""
        return leader.core.high_watermark is not None

    def _wake(self, victim: Machine) -> None:
        suspended, self._suspended = self._suspended, None
        if suspended is not None and victim.process is suspended and not self._is_over:
            self._targets.marks.count(Mark.SUSPENDED_LEADER_WENT_ON)
            self._targets.run_log.add(str(victim), "goes on")
            suspended.wake()
