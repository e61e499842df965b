"""Connections that break, that lead nowhere, or to the wrong node."""

from __future__ import annotations

from tests.simulation.connections import Connection, Lane
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis


class Resets(Nemesis):
    """Breaks the connections between two nodes: what is under way on them fails, with answers that are half there."""

    kind = Fault.RESET

    def _strike(self) -> bool:
        targets = self._targets
        if len(targets.machines) < 2:
            return False
        one, other = self._dice.some(targets.machines, 2)
        targets.post_office.reset(one.node_id, other.node_id)
        return True


class HalfOpenConnections(Nemesis):
    """Lets a connection lead nowhere, as a firewall does that has forgotten it: only one side believes in it, and what
    it sends is neither answered nor refused until it makes another.
    """

    kind = Fault.HALF_OPEN

    def _strike(self) -> bool:
        targets = self._targets
        running = targets.running
        if len(running) < 2:
            return False
        sender, receiver = self._dice.some(running, 2)
        for lane in self._dice.some([*Lane], 1 + self._dice.draw(len(Lane))):
            targets.story.tell("network", "forgets the connection for %s from %s to %s", lane.value, sender, receiver)
            targets.post_office.lose(Connection(sender.node_id, receiver.node_id, lane))
        return True


class Refusals(Nemesis):
    """Lets a firewall refuse the connections of one node to another for a while, though the other runs."""

    kind = Fault.REFUSAL

    def _strike(self) -> bool:
        targets = self._targets
        if len(targets.machines) < 2:
            return False
        sender, receiver = self._dice.some(targets.machines, 2)
        duration_ms = self._dice.between(targets.plan.faults.partition_ms)
        targets.story.tell("network", "refuses the connections of %s to %s for %s ms", sender, receiver, duration_ms)
        targets.post_office.refuse(sender.node_id, receiver.node_id)
        targets.timeline.after(duration_ms, lambda: targets.post_office.admit(sender.node_id, receiver.node_id))
        return True


class Misdirections(Nemesis):
    """Lets the address of one node lead to another for a while, as an old entry in a table of names does."""

    kind = Fault.MISDIRECTION

    def _strike(self) -> bool:
        targets = self._targets
        if len(targets.machines) < 2:
            return False
        meant, found = self._dice.some(targets.machines, 2)
        duration_ms = self._dice.between(targets.plan.faults.partition_ms)
        targets.story.tell("network", "leads to %s instead of %s for %s ms", found, meant, duration_ms)
        targets.post_office.misdirect(meant.node_id, found)
        targets.timeline.after(duration_ms, lambda: targets.post_office.direct(meant.node_id))
        return True
