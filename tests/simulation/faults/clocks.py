"""Time that passes otherwise than it should."""

from __future__ import annotations

from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis


class Stalls(Nemesis):
    """Lets a process stand still for a while, as one that is stopped by a signal, or waits for memory."""

    kind = Fault.STALL

    def _strike(self) -> bool:
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return False
        stall_ms = self._dice.between(self._targets.plan.faults.stall_ms)
        self._targets.story.tell(str(victim), "stands still for %s ms", stall_ms)
        victim.process.stall(self._targets.timeline.now_ms + stall_ms)
        return True


class ClockJumps(Nemesis):
    """Lets a machine's clock jump ahead, so that all its patience is over at once, and nobody else's."""

    kind = Fault.CLOCK_JUMP

    def _strike(self) -> bool:
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return False
        jump_ms = self._dice.between(self._targets.plan.faults.stall_ms)
        self._targets.story.tell(str(victim), "has a clock that jumps ahead by %s ms", jump_ms)
        victim.process.jump_ahead(jump_ms)
        return True
