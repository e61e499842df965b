"""Clients that send requests which they may not send."""

from __future__ import annotations

from tests.simulation.accepted import ClientConnection
from tests.simulation.faults.attacks import ATTACKS, Intruder
from tests.simulation.faults.conversation import Conversation
from tests.simulation.faults.intruder_requests import Insight
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.machine import Machine
from tests.simulation.security.access import AccessControl
from tests.simulation.starting import endpoint_of

_ADDRESS = -2_000
_AT_ONCE = (3, 8)


class Intruders(Nemesis):
    """Lets some intruders come at once, each on a connection of its own. Half of them go to the leader."""

    kind = Fault.INTRUDER

    def _strike(self) -> bool:
        access, running = self._targets.access, self._targets.running
        if access is None or not running:
            return False
        newest = max(self._targets.leaders or running, key=lambda machine: machine.core.epoch)
        for _ in range(self._dice.between(_AT_ONCE)):
            self._attack(access, self._pick_victim() or newest, newest)
        return True

    def _attack(self, access: AccessControl, victim: Machine, newest: Machine) -> None:
        targets, plan = self._targets, self._targets.plan
        insight = Insight(core=newest.core, voters=plan.voters, nodes=(*plan.voters, *plan.observers), dice=self._dice)
        way = self._dice.pick(ATTACKS)
        attack = way(Intruder(access, insight, plan))
        if attack is None:
            return
        targets.run_log.add("intruder", "goes to %s %s", victim, way.__name__.replace("_", " "))
        conversation = Conversation(
            _ADDRESS,
            endpoint_of(victim.node_id),
            ClientConnection(attack.passwords, copied_by=None),
            attack.script,
            post_office=targets.post_office,
            timeline=targets.timeline,
        )
        conversation.go_on()
