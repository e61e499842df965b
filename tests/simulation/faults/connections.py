"""Faults of connections: reset, half open, refused, or to the wrong node."""

from __future__ import annotations

from tests.simulation.connections import Connection, ConnectionKind
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis


class Resets(Nemesis):
    """Resets the connections between two nodes: the requests in flight on them fail."""

    kind = Fault.RESET

    def _strike(self) -> bool:
        targets = self._targets
        if len(targets.machines) < 2:
            return False
        one, other = self._dice.some(targets.machines, 2)
        targets.post_office.reset(one.node_id, other.node_id)
        return True


class HalfOpenConnections(Nemesis):
    """Makes a connection half open, as a firewall does that has dropped its state: requests on it are neither answered
    nor refused until the sender makes another connection.
    """

    kind = Fault.HALF_OPEN

    def _strike(self) -> bool:
        targets = self._targets
        running = targets.running
        if len(running) < 2:
            return False
        sender, receiver = self._dice.some(running, 2)
        for kind in self._dice.some([*ConnectionKind], 1 + self._dice.draw(len(ConnectionKind))):
            targets.run_log.add(
                "network", "makes the connection for %s from %s to %s half open", kind.value, sender, receiver
            )
            targets.post_office.make_half_open(Connection(sender.node_id, receiver.node_id, kind))
        return True


class Refusals(Nemesis):
    """Makes a firewall refuse the connections of one node to another running node for some time."""

    kind = Fault.REFUSAL

    def _strike(self) -> bool:
        targets = self._targets
        if len(targets.machines) < 2:
            return False
        sender, receiver = self._dice.some(targets.machines, 2)
        duration_ms = self._dice.between(targets.plan.faults.partition_ms)
        targets.run_log.add("network", "refuses the connections of %s to %s for %s ms", sender, receiver, duration_ms)
        targets.post_office.refuse(sender.node_id, receiver.node_id)
        targets.timeline.after(duration_ms, lambda: targets.post_office.accept(sender.node_id, receiver.node_id))
        return True


class Misdirections(Nemesis):
    """Makes the address of one node lead to another node for some time, as a stale DNS entry does."""

    kind = Fault.MISDIRECTION

    def _strike(self) -> bool:
        targets = self._targets
        if len(targets.machines) < 2:
            return False
        meant, found = self._dice.some(targets.machines, 2)
        duration_ms = self._dice.between(targets.plan.faults.partition_ms)
        targets.run_log.add("network", "leads to %s instead of %s for %s ms", found, meant, duration_ms)
        targets.post_office.misdirect(meant.node_id, found)
        targets.timeline.after(duration_ms, lambda: targets.post_office.restore_address(meant.node_id))
        return True
