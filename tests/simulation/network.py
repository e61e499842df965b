"""The network between nodes and clients: each message has a fate of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from raft.records.header import CHECKED_FROM, batch_size_bytes
from tests.simulation.dice import Dice
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Address, Message
from tests.simulation.plan import CALM_NETWORK, NetworkPlan
from tests.simulation.timeline import Action, Timeline

Links = frozenset[tuple[Address, Address]]
"""Ways from one address to another, one way each."""


class Fate(Enum):
    """What becomes of a message that is sent."""

    CARRIED = "carried"
    HELD = "held"
    LOST = "lost"


Judge = Callable[[Message, Action], Fate]
"""Decides what becomes of a message. One that it holds is delivered by calling the action."""


class Network:
    """Carries messages: late or never, out of order, twice.

    Two messages never wait for each other, as if each had a connection of its own; a connection that breaks and is
    made anew does the same to real ones. What is cut off, is cut off when a message is sent.

    Attributes:
        judge: decides first, if there is one.
    """

    def __init__(self, plan: NetworkPlan, *, timeline: Timeline, dice: Dice, marks: Marks) -> None:
        self.judge: Judge | None = None
        self._plan = plan
        self._timeline = timeline
        self._dice = dice
        self._marks = marks
        self._cuts: list[Links] = []
        self._is_calm = False

    def calm_down(self) -> None:
        """Be a good network from now on: what is held, or was to come a second time, does not come any more."""
        self._plan = CALM_NETWORK
        self._cuts.clear()
        self._is_calm = True

    @property
    def refused_percent(self) -> int:
        """How often the sender hears of it when no node listens."""
        return self._plan.refused_percent

    def cut(self, links: Iterable[tuple[Address, Address]]) -> Links:
        """Let nothing through from the first to the second of each pair; return what `mend` takes."""
        cut = frozenset(links)
        self._cuts.append(cut)
        return cut

    def mend(self, cut: Links) -> None:
        """Undo a cut."""
        self._cuts = [other for other in self._cuts if other is not cut]

    def is_cut(self, sender: Address, receiver: Address) -> bool:
        """Whether nothing gets from one to the other."""
        return any((sender, receiver) in cut for cut in self._cuts)

    def carry(self, message: Message, deliver: Action, *, may_repeat: bool = False) -> Fate:
        """Take a message along; return what becomes of it, as far as that is decided now.

        Args:
            message: from whom to whom, and what it says.
            deliver: hands it over; called as often as it arrives.
            may_repeat: whether it may arrive twice: a request that is asked again looks so.
        """
        plan, dice = self._plan, self._dice
        if self.is_cut(message.sender, message.receiver):
            return Fate.LOST
        if self.judge is not None:
            fate = self.judge(message, deliver)
            if fate is not Fate.CARRIED:
                return fate
        if dice.chance(plan.loss_percent):
            self._marks.count(Mark.MESSAGE_LOST)
        elif dice.chance(plan.held_percent):
            self._timeline.after(dice.between(plan.late_ms), lambda: self._release(deliver))
        else:
            self._timeline.after(dice.between(plan.delay_ms), deliver)
        if may_repeat and dice.chance(plan.repeat_percent):
            is_late = dice.chance(plan.late_percent)
            self._timeline.after(
                dice.between(plan.late_ms if is_late else plan.delay_ms), lambda: self._repeat(deliver, is_late)
            )
        return Fate.CARRIED

    def damaged(self, records: bytes) -> bytes:
        """Return the records of a response as they arrive: perhaps truncated, perhaps with a bit that is wrong.

        Only what a checksum covers goes wrong: the link's own checksums guard the rest of a message as well, and such
        damage comes from files that change while they are sent (KAFKA-18723).
        """
        dice = self._dice
        if self._is_calm or not dice.chance(self._plan.damage_percent):
            return records
        if dice.draw(2):
            self._marks.count(Mark.RESPONSE_TRUNCATED)
            return records[: dice.draw(len(records))]
        begin = 0
        while dice.draw(2) and begin + (batch_size_bytes(records, begin) or 0) < len(records):
            begin += batch_size_bytes(records, begin) or 0
        size_bytes = batch_size_bytes(records, begin) or 0
        position = begin + CHECKED_FROM + dice.draw(size_bytes - CHECKED_FROM)
        self._marks.count(Mark.RESPONSE_DAMAGED)
        return records[:position] + bytes([records[position] ^ 1 << dice.draw(8)]) + records[position + 1 :]

    def _release(self, deliver: Action) -> None:
        if not self._is_calm:
            self._marks.count(Mark.MESSAGE_HELD)
            deliver()

    def _repeat(self, deliver: Action, is_late: bool) -> None:
        if not self._is_calm:
            if is_late:
                self._marks.count(Mark.LATE_REQUEST)
            deliver()
