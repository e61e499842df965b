"""Users and rights that are taken away, and given back."""

from __future__ import annotations

from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis
from tests.simulation.security.access import AccessControl
from tests.simulation.security.mechanisms import SCRAM
from tests.simulation.security.rights import Right
from tests.simulation.security.users import CLIENTS, user_of


class Revocations(Nemesis):
    """Removes a user, or takes its right to read or append, for some time.

    With PLAIN a node knows the users from its configuration, which does not change. Nodes lose the right to speak as
    themselves by `WrongRules`.
    """

    kind = Fault.REVOCATION

    def _strike(self) -> bool:
        access, plan = self._targets.access, self._targets.plan
        if access is None:
            return False
        duration_ms = self._dice.between(plan.faults.partition_ms)
        user, client = self._dice.pick(sorted(CLIENTS)), self._dice.pick(sorted(CLIENTS))
        if plan.security.mechanism == SCRAM and self._dice.draw(2):
            if self._dice.draw(3) == 0:
                user = user_of(self._dice.pick((*plan.voters, *plan.observers)), plan)
            self._remove(access, user, duration_ms)
        else:
            (right,) = CLIENTS[client]
            self._take(access, client, right, duration_ms)
        return True

    def _remove(self, access: AccessControl, user: str, duration_ms: int) -> None:
        self._targets.run_log.add("rules", "lose user %s for %s ms", user, duration_ms)
        access.remove_user(user)
        self._targets.timeline.after(duration_ms, lambda: access.add_user(user))

    def _take(self, access: AccessControl, user: str, right: Right, duration_ms: int) -> None:
        self._targets.run_log.add("rules", "let %s not %s for %s ms", user, right.value, duration_ms)
        access.take_right(user, right)
        self._targets.timeline.after(duration_ms, lambda: access.give_right(user, right))
