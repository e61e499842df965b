"""Requests of an operator: shutdown and resignation."""

from __future__ import annotations

from raft.core.events import ResignRequested, ShutdownRequested
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis

_SHUTDOWN_TIMEOUTS_MS = (50, 5000)


class Shutdowns(Nemesis):
    """Shuts a node down gracefully."""

    kind = Fault.SHUTDOWN

    def _strike(self) -> bool:
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return False
        timeout_ms = self._dice.between(_SHUTDOWN_TIMEOUTS_MS)
        self._targets.run_log.add(str(victim), "is shut down within %s ms", timeout_ms)
        victim.process.submit(ShutdownRequested(timeout_ms=timeout_ms))
        return True


class Resignations(Nemesis):
    """Makes a leader resign from its epoch."""

    kind = Fault.RESIGNATION

    def _strike(self) -> bool:
        leaders = [machine for machine in self._targets.leaders if machine.process and machine.process.is_idle]
        if not leaders:
            return False
        leader = self._dice.pick(leaders)
        self._targets.run_log.add(str(leader), "is asked to resign")
        if leader.process is not None:
            leader.process.submit(ResignRequested(epoch=leader.core.epoch))
        return True
