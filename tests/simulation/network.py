"""The network between nodes and clients: everything that carries a message has its own fate."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.dice import Dice
from tests.simulation.plan import CALM_NETWORK, NetworkPlan
from tests.simulation.sightings import Sight, Sightings
from tests.simulation.timeline import Action, Timeline

Address = int
"""A node's id, or a client's number, which is below 0."""

Links = frozenset[tuple[Address, Address]]
"""Ways from one address to another, one way each."""


class Network:
    """Carries messages: late or never, out of order, twice.

    Two messages never wait for each other, as if each had a connection of its own; a connection that breaks and is
    made anew does the same to real ones. What is cut off, is cut off when a message is sent.
    """

    def __init__(self, plan: NetworkPlan, *, timeline: Timeline, dice: Dice, sightings: Sightings) -> None:
        self._plan = plan
        self._timeline = timeline
        self._dice = dice
        self._sightings = sightings
        self._cuts: list[Links] = []
        self._is_calm = False

    def calm_down(self) -> None:
        """Be a good network from now on: what was to come late a second time does not come again."""
        self._plan = CALM_NETWORK
        self._cuts.clear()
        self._is_calm = True

    def cut(self, links: Iterable[tuple[Address, Address]]) -> Links:
        """Let nothing through from the first to the second of each pair; return what `mend` takes."""
        cut = frozenset(links)
        self._cuts.append(cut)
        return cut

    def mend(self, cut: Links) -> None:
        """Undo a cut."""
        self._cuts = [other for other in self._cuts if other is not cut]

    def carry(self, sender: Address, receiver: Address, deliver: Action, *, may_repeat: bool = False) -> None:
        """Take a message along.

        Args:
            sender: where it comes from.
            receiver: where it goes.
            deliver: hands it over; called as often as it arrives.
            may_repeat: whether it may arrive twice: a request that is asked again looks so.
        """
        plan, dice = self._plan, self._dice
        if any((sender, receiver) in cut for cut in self._cuts):
            return
        if dice.chance(plan.loss_percent):
            self._sightings.count(Sight.MESSAGE_LOST)
        else:
            self._timeline.after(dice.between(plan.delay_ms), deliver)
        if may_repeat and dice.chance(plan.repeat_percent):
            is_late = dice.chance(plan.late_percent)
            self._timeline.after(
                dice.between(plan.late_ms if is_late else plan.delay_ms), lambda: self._repeat(deliver, is_late)
            )

    def _repeat(self, deliver: Action, is_late: bool) -> None:
        if not self._is_calm:
            if is_late:
                self._sightings.count(Sight.LATE_REQUEST)
            deliver()
