"""Invariants of the turns that a node gives to its connections (rules SHARE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raft.runtime.turns import Standing
from tests.simulation.invariants.observer import Invariant
from tests.simulation.invariants.overdue import Overdue

if TYPE_CHECKING:
    from tests.simulation.inbound import Inbound, Wait
    from tests.simulation.machine import Machine
    from tests.simulation.plan import Plan

# A turn ends with the request in which 0.5 ms are over, and a request takes up to 0.3 ms here. So a round takes up to
# 6.4 ms: 2 ms and a turn each for voters and clients, and a turn for one that is not known.
_LONGEST_TURN_MS = 0.8
_LONGEST_ROUND_MS = 6.4


class VotersAreServedFirst(Invariant):
    """A voter's request waits for the round that has begun, for that of other voters, and not for clients."""

    rules = ("SHARE-1", "SHARE-2")

    def request_waited(self, machine: Machine, wait: Wait) -> None:
        if wait.standing is Standing.VOTER and wait.is_alone:
            self.require(
                wait.work_ms <= 2 * _LONGEST_ROUND_MS and not (wait.should_begin_at_once and wait.clients_ms),
                "%s: a voter's request waited while the node worked for %s ms, since it was read for clients for %s ms",
                machine,
                wait.work_ms,
                wait.clients_ms,
            )


class ClientsAreServedInTurn(Invariant):
    """A request whose owner has no other connection that waits is served when each owner has had about a turn."""

    rules = ("SHARE-1", "SHARE-3")

    def request_waited(self, machine: Machine, wait: Wait) -> None:
        if wait.standing is Standing.KNOWN and wait.is_alone:
            # Voters and those that are not known may take as much time as the clients, or a little more.
            allowed_ms = 3 * _LONGEST_ROUND_MS + 5 * _LONGEST_TURN_MS * (wait.owners + 1)
            self.require(
                wait.work_ms <= allowed_ms,
                "%s: a client's request waited while the node worked for %s ms, beside %s others",
                machine,
                wait.work_ms,
                wait.owners,
            )


class ReceivedRequestsAreServed(Invariant):
    """No request that could begin waits while its node has nothing to do; it is on a connection that is not read."""

    rules = ("SHARE-3", "SHARE-4", "QUOTA-3")

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._overdue = Overdue(plan.timeouts.timer_grain_ms)

    def turns_ended(self, machine: Machine, connections: Sequence[Inbound]) -> None:
        waiting = [each.owner for each in connections if self._may_have_a_turn(machine, each)]
        self.require(not waiting, "%s has nothing to do, while requests of %s wait", machine, waiting)

    def _may_have_a_turn(self, machine: Machine, inbound: Inbound) -> bool:
        """Return whether nothing but the node keeps a connection from its turn. Those that are not known pause."""
        if inbound.standing is Standing.UNKNOWN:
            return False
        pace, process = inbound.pace, machine.process
        if pace is None or process is None:
            return True
        return self._overdue.is_late(pace, machine.true_ms, is_due=pace.pause_s(process.now_ms / 1_000) <= 0)


class HeldRequestsAreHandled(Invariant):
    """No request is held from the core while its node has nothing to do."""

    rules = ("SHARE-9",)

    def turns_ended(self, machine: Machine, connections: Sequence[Inbound]) -> None:
        process = machine.process
        if process is not None:
            held = process.engine.held
            self.require(not held, "%s has nothing to do, while %s events are held from the core", machine, held)
