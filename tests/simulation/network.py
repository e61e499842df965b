"""The network between nodes and clients, which delays, loses and repeats messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from raft.records.header_fields import CHECKED_FROM, batch_size_bytes
from tests.simulation.dice import Dice
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Address, Message
from tests.simulation.plan import RELIABLE_NETWORK, NetworkPlan
from tests.simulation.stream import Stream
from tests.simulation.timeline import Action, Timeline

_DAMAGED_SNAPSHOTS_PERCENT = 50
"""How many snapshots are damaged in plans that damage other responses: there are few snapshots."""

Links = frozenset[tuple[Address, Address]]
"""Links from one address to another, in one direction each."""


class Fate(Enum):
    """What the network does with a message."""

    CARRIED = "carried"
    HELD = "held"
    LOST = "lost"


Judge = Callable[[Message, Action], Fate]
"""Decides the fate of a message. The action delivers a message that it holds."""


class Network:
    """Carries messages: it may delay, lose, repeat and reorder them.

    Messages on a connection between nodes (`carry_on`) arrive in their order. All others do not wait for each other, as
    if each had its own connection. A cut link loses the messages that are sent while it is cut.

    Attributes:
        judge: decides the fate of a message before the network does; None for no judge.
    """

    def __init__(self, plan: NetworkPlan, *, timeline: Timeline, dice: Dice, marks: Marks) -> None:
        self.judge: Judge | None = None
        self._plan = plan
        self._timeline = timeline
        self._dice = dice
        self._marks = marks
        self._cuts: list[Links] = []
        self._faults_ended = False

    def end_faults(self) -> None:
        """Become reliable: mend all links, and drop held messages and late repetitions."""
        self._plan = RELIABLE_NETWORK
        self._cuts.clear()
        self._faults_ended = True

    @property
    def negotiates(self) -> bool:
        """Whether a node learns the versions of another one before it sends requests on a new connection."""
        return self._plan.negotiates

    @property
    def refused_percent(self) -> int:
        """How often a connection to a stopped node is refused, in percent."""
        return self._plan.refused_percent

    def cut(self, links: Iterable[tuple[Address, Address]]) -> Links:
        """Cut links from the first to the second address of each pair; return the argument of `mend`."""
        cut = frozenset(links)
        self._cuts.append(cut)
        return cut

    def mend(self, cut: Links) -> None:
        """Undo a cut."""
        self._cuts = [other for other in self._cuts if other is not cut]

    def is_cut(self, sender: Address, receiver: Address) -> bool:
        """Whether the link between two addresses is cut in this direction."""
        return any((sender, receiver) in cut for cut in self._cuts)

    def carry(self, message: Message, deliver: Action) -> Fate:
        """Carry a message by itself; return its fate, as far as it is known now.

        Args:
            message: the message, with its addresses.
            deliver: called when it arrives.
        """
        fate = self._fate_before_sending(message, deliver)
        if fate is not Fate.CARRIED:
            return fate
        plan, dice = self._plan, self._dice
        if dice.chance(plan.loss_percent):
            self._marks.count(Mark.MESSAGE_LOST)
        elif dice.chance(plan.held_percent):
            self._timeline.after(dice.between(plan.late_ms), lambda: self._release(deliver))
        else:
            self._timeline.after(dice.between(plan.delay_ms), deliver)
        return Fate.CARRIED

    def carry_on(self, stream: Stream, message: Message, deliver: Action, lose: Action) -> Fate:
        """Carry a message on a connection, behind those that were sent on it before; return its fate.

        Args:
            stream: this direction of the connection.
            message: the message, with its addresses.
            deliver: called when it arrives.
            lose: called when it is lost, unless `judge` has decided that.
        """
        plan, dice = self._plan, self._dice
        if self.is_cut(message.sender, message.receiver):
            lose()
            return Fate.LOST
        fate = self._fate_before_sending(message, deliver)
        if fate is not Fate.CARRIED:
            return fate
        if dice.chance(plan.loss_percent):
            self._marks.count(Mark.MESSAGE_LOST)
            lose()
            return Fate.LOST
        if dice.chance(plan.held_percent):
            stream.send(lambda: self._release(deliver, lose), dice.between(plan.late_ms), self._timeline)
        else:
            stream.send(deliver, dice.between(plan.delay_ms), self._timeline)
        return Fate.CARRIED

    def maybe_repeat(self, deliver: Action) -> None:
        """Let a request arrive once more, now and then, like one that is sent again.

        Args:
            deliver: called when it arrives.
        """
        plan, dice = self._plan, self._dice
        if dice.chance(plan.repeat_percent):
            is_late = dice.chance(plan.late_percent)
            delay_ms = dice.between(plan.late_ms if is_late else plan.delay_ms)
            self._timeline.after(delay_ms, lambda: self._repeat(deliver, is_late))

    def _fate_before_sending(self, message: Message, deliver: Action) -> Fate:
        if self.is_cut(message.sender, message.receiver):
            return Fate.LOST
        return Fate.CARRIED if self.judge is None else self.judge(message, deliver)

    def _damages(self, percent: int) -> bool:
        return not self._faults_ended and self._dice.chance(percent)

    def damaged(self, records: bytes) -> bytes:
        """Return the records of a response as they arrive: some are truncated, some have a flipped bit.

        Only bytes under a batch's checksum are damaged. TCP has checksums of its own, so such damage comes from files
        that change while they are sent (KAFKA-18723).
        """
        dice = self._dice
        if not self._damages(self._plan.damage_percent):
            return records
        if dice.draw(2):
            self._marks.count(Mark.RESPONSE_TRUNCATED)
            return records[: dice.draw(len(records))]
        self._marks.count(Mark.RESPONSE_DAMAGED)
        return self._with_flipped_bit(records)

    def damaged_snapshot(self, piece: bytes) -> bytes:
        """Return the first piece of a snapshot as it arrives: a bit may be flipped; see `damaged`."""
        is_damaged = self._plan.damage_percent and self._damages(_DAMAGED_SNAPSHOTS_PERCENT)
        return self._with_flipped_bit(piece) if is_damaged else piece

    def _with_flipped_bit(self, batches: bytes) -> bytes:
        """Flip a bit under the checksum of a whole batch; the last one may be cut off."""
        dice = self._dice
        if not _is_whole(batches, 0):
            return batches
        begin, size_bytes = 0, batch_size_bytes(batches) or 0
        while dice.draw(2) and _is_whole(batches, begin + size_bytes):
            begin += size_bytes
            size_bytes = batch_size_bytes(batches, begin) or 0
        position = begin + CHECKED_FROM + dice.draw(size_bytes - CHECKED_FROM)
        return batches[:position] + bytes([batches[position] ^ 1 << dice.draw(8)]) + batches[position + 1 :]

    def _release(self, deliver: Action, lose: Action = lambda: None) -> None:
        if self._faults_ended:
            lose()
        else:
            self._marks.count(Mark.MESSAGE_HELD)
            deliver()

    def _repeat(self, deliver: Action, is_late: bool) -> None:
        if not self._faults_ended:
            if is_late:
                self._marks.count(Mark.LATE_REQUEST)
            deliver()


def _is_whole(batches: bytes, position: int) -> bool:
    """Whether a whole batch begins at a position."""
    size_bytes = batch_size_bytes(batches, position)
    return size_bytes is not None and position + size_bytes <= len(batches)
