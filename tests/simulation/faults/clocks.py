"""Faults of time: stalled processes and clocks that jump."""

from __future__ import annotations

from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis


class Stalls(Nemesis):
    """Stalls a process for some time, as a stop signal or paging does."""

    kind = Fault.STALL

    def _strike(self) -> bool:
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return False
        stall_ms = self._dice.between(self._targets.plan.faults.stall_ms)
        self._targets.run_log.add(str(victim), "stalls for %s ms", stall_ms)
        victim.process.stall(self._targets.timeline.now_ms + stall_ms)
        return True


class ClockJumps(Nemesis):
    """Makes the clock of one machine jump ahead, so that all its timers expire."""

    kind = Fault.CLOCK_JUMP

    def _strike(self) -> bool:
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return False
        jump_ms = self._dice.between(self._targets.plan.faults.stall_ms)
        self._targets.run_log.add(str(victim), "has its clock jump ahead by %s ms", jump_ms)
        victim.process.jump_ahead(jump_ms)
        return True
