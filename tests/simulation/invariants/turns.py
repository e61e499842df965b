"""Invariants of the turns that a node gives to its connections (rules SHARE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raft.runtime.turns import Standing
from tests.simulation.invariants.observer import Invariant

if TYPE_CHECKING:
    from tests.simulation.inbound import Inbound, Wait
    from tests.simulation.machine import Machine

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

    rules = ("SHARE-3", "SHARE-4")

    def turns_ended(self, machine: Machine, connections: Sequence[Inbound]) -> None:
        # Those that are not known pause.
        waiting = [each.owner for each in connections if each.standing is not Standing.UNKNOWN]
        self.require(not waiting, "%s has nothing to do, while requests of %s wait", machine, waiting)
