"""Machines without power, processes without life, and those that leave or stand still."""

from __future__ import annotations

from raft.core.events import ResignRequested, ShutdownRequested
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.sightings import Sight

_DISK_CALLS = 40
_DISK_CALLS_OF_START = 12
_EFFECTS = 8
_SHUTDOWN_TIMEOUTS_MS = (50, 5000)


class Crashes(Nemesis):
    """Takes one machine down: at once, in the middle of its disk's work, or in the middle of a list of effects.

    One that is down already may lose its power again while it recovers.
    """

    def _strike(self) -> None:
        down = [machine for machine in self._prey.machines if machine.process is None]
        if down and self._dice.draw(3) == 0:
            self._dice.pick(down).files.cut_power_before(1 + self._dice.draw(_DISK_CALLS_OF_START))
            return
        victim = self._pick_victim()
        if victim is None or victim.process is None:
            return
        match self._dice.draw(5):
            case 0:
                victim.cut_power()
            case 1 | 2:
                victim.files.cut_power_before(1 + self._dice.draw(_DISK_CALLS))
            case 3:
                victim.kill()
            case _:
                victim.process.plan_kill(self._dice.draw(_EFFECTS))


class Blackouts(Nemesis):
    """Takes the power from all machines at once."""

    def _strike(self) -> None:
        self._prey.sightings.count(Sight.BLACKOUT)
        self._prey.story.tell("power", "fails everywhere")
        for machine in self._prey.running:
            machine.cut_power()


class Stalls(Nemesis):
    """Lets a process stand still for a while."""

    def _strike(self) -> None:
        victim = self._pick_victim()
        if victim is not None and victim.process is not None:
            stall_ms = self._dice.between(self._prey.plan.faults.stall_ms)
            self._prey.sightings.count(Sight.STALL)
            self._prey.story.tell(str(victim), "stands still for %s ms", stall_ms)
            victim.process.stall(self._prey.timeline.now_ms + stall_ms)


class Farewells(Nemesis):
    """Lets a node leave gracefully."""

    def _strike(self) -> None:
        victim = self._pick_victim()
        if victim is not None and victim.process is not None:
            timeout_ms = self._dice.between(_SHUTDOWN_TIMEOUTS_MS)
            self._prey.story.tell(str(victim), "is asked to leave within %s ms", timeout_ms)
            victim.process.submit(ShutdownRequested(timeout_ms=timeout_ms))


class Resignations(Nemesis):
    """Asks a leader to give up its epoch."""

    def _strike(self) -> None:
        leaders = [machine for machine in self._prey.leaders if machine.process and machine.process.is_at_rest]
        if leaders:
            leader = self._dice.pick(leaders)
            self._prey.story.tell(str(leader), "is asked to resign")
            if leader.process is not None:
                leader.process.submit(ResignRequested(epoch=leader.core.epoch))
