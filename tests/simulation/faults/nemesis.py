"""The base of all nemeses. A nemesis causes one kind of fault (the word is from Jepsen)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tests.simulation.dice import Dice
from tests.simulation.faults.kinds import Fault
from tests.simulation.machine import Machine
from tests.simulation.marks import Marks
from tests.simulation.network import Network
from tests.simulation.plan import Plan
from tests.simulation.post_office import PostOffice
from tests.simulation.run_log import RunLog
from tests.simulation.security.access import AccessControl
from tests.simulation.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The parts of the world that a nemesis uses.

    Fields:
        clients: the addresses of the clients.
        access: the users of the run and their rights; None in a plan without security.
    """

    plan: Plan
    timeline: Timeline
    run_log: RunLog
    marks: Marks
    network: Network
    post_office: PostOffice
    machines: Sequence[Machine]
    clients: Sequence[int]
    access: AccessControl | None

    @property
    def running(self) -> list[Machine]:
        """The machines that are up."""
        return [machine for machine in self.machines if machine.process is not None]

    @property
    def down(self) -> list[Machine]:
        """The machines that are down."""
        return [machine for machine in self.machines if machine.process is None]

    @property
    def leaders(self) -> list[Machine]:
        """The machines that have the role of leader; several if some are deposed."""
        return [machine for machine in self.machines if machine.is_leader]


class Nemesis(ABC):
    """Causes one kind of fault in the fault phase, as often as the plan says.

    Args:
        targets: the parts of the world that it uses.

    Attributes:
        kind: the kind of fault.
    """

    kind: ClassVar[Fault]

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._dice = Dice(targets.plan.seed, self.kind.name)
        self._every_ms = targets.plan.faults.every_ms.get(self.kind)
        self._is_over = False

    def begin(self) -> None:
        """Strike after a random time, and then repeatedly."""
        if self._every_ms is not None:
            self._targets.timeline.after(self._dice.between((1, 2 * self._every_ms)), self._strike_again)

    def end(self) -> None:
        """Strike no more."""
        self._is_over = True

    @abstractmethod
    def _strike(self) -> bool:
        """Cause the fault once; return whether there was a target for it."""

    def _strike_again(self) -> None:
        if not self._is_over:
            self._targets.marks.strikes[self.kind] += self._strike()
            self.begin()

    def _pick_victim(self) -> Machine | None:
        """Pick a running machine, in half of the cases a leader; None if all are down."""
        leaders, running = self._targets.leaders, self._targets.running
        if leaders and self._dice.draw(2):
            return self._dice.pick(leaders)
        return self._dice.pick(running) if running else None
