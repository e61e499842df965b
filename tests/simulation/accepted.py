"""The connections that nodes have accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from raft.runtime.caller import Caller
from raft.types import NodeId
from tests.simulation.dice import Dice
from tests.simulation.message import Address
from tests.simulation.plan import Plan
from tests.simulation.security.expected import ExpectedSession
from tests.simulation.starting import endpoint_of

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.round_trip import PostedRequest
    from tests.simulation.security.access import AccessControl
    from tests.simulation.security.identity import Identity


class Lane(NamedTuple):
    """What tells a connection on which a client sends many requests from all others.

    Fields:
        sender: the address of the client.
        receiver: the node.
    """

    sender: Address
    receiver: NodeId


class AcceptedConnection:
    """A connection at the node that has accepted it.

    Args:
        caller: the other side, as the node knows it.
        expected: what the other side has proved; None in a plan without security.
        identity: the user that proves its name before the first request, and again when the session ends soon; None if
            the other side sends the requests for that itself.

    Attributes:
        lane: where it is kept; None if it is not.
        is_of_node: whether a node sends requests of the quorum on it.
        is_forgetful: whether the user does not prove its name again.
        is_peer: whether its node has accepted a request in the name of a voter from it.
        is_established: whether its name is proved, if it has to be, and its first request has begun.
        is_abandoned: whether the node knows that the other side has closed it.
        under_way: the requests without a response.
        ended: called when the node closes it, to tell the other side; None for no callback.
        authenticated_ms: the true time of the last proof by `identity`.
        lifetime_ms: how long the session is valid since then; None for no limit.
    """

    def __init__(
        self,
        caller: Caller,
        expected: ExpectedSession | None = None,
        identity: Identity | None = None,
    ) -> None:
        self.caller = caller
        self.expected = expected
        self.identity = identity
        self.lane: Lane | None = None
        self.is_of_node = self.is_forgetful = self.is_abandoned = False
        self.is_peer = self.is_established = False
        self.under_way: dict[PostedRequest, None] = {}
        self.ended: Callable[[], None] | None = None
        self.authenticated_ms = 0
        self.lifetime_ms: int | None = None
        self._has_ended = False
        self._incarnation: int | None = None

    def is_open_at(self, machine: Machine) -> bool:
        """Return whether its requests reach the process that runs on a machine: a connection ends with its process."""
        if self._incarnation is None:
            self._incarnation = machine.incarnation
        return not self._has_ended and self._incarnation == machine.incarnation

    def is_used_at(self, machine: Machine) -> bool:
        """Return whether neither side has closed it, as far as the process of the machine knows."""
        return not self.is_abandoned and self.is_open_at(machine)

    def end(self) -> None:
        """End it: the node has closed it. The requests without a response fail."""
        self._has_ended = True
        for posted in list(self.under_way):
            posted.connection_ended()
        self.under_way.clear()
        if self.ended is not None:
            self.ended()


class ClientConnection:
    """A connection that its client opens, and on which the client proves its name itself.

    Args:
        passwords: see `ExpectedSession`.
        copied_by: the user in whose name the network repeats requests, on connections of their own; None if it repeats
            none of this client.

    Attributes:
        receiver: the machine that it leads to; None before the first request.
        accepted: the same connection at that machine.
    """

    def __init__(self, passwords: Mapping[str, str], copied_by: Identity | None) -> None:
        self.passwords = passwords
        self.copied_by = copied_by
        self.accepted: AcceptedConnection | None = None
        self.receiver: Machine | None = None


class AcceptedConnections:
    """Makes the connections of all nodes, and keeps those that are used for many requests.

    Args:
        access: the users of the run; None in a plan without security.
        plan: the plan of the run.
    """

    def __init__(self, access: AccessControl | None, plan: Plan) -> None:
        self._access = access
        self._dice = Dice(plan.seed, "forgetful connections")
        self._forgetful_percent = plan.security.forgetful_percent
        self._kept: dict[Lane, AcceptedConnection] = {}

    def user_of_node(self, node_id: NodeId) -> Identity | None:
        """Return the user of a node; None in a plan without security."""
        return None if self._access is None else self._access.node(node_id)

    def on(self, lane: Lane, identity: Identity | None) -> AcceptedConnection:
        """Return the connection on a lane, which is opened if there is none."""
        if lane not in self._kept:
            connection = self._kept[lane] = self._lasting(lane.sender, lane.receiver, identity)
            connection.lane = lane
        return self._kept[lane]

    def between_nodes(self, sender: NodeId, receiver: NodeId) -> AcceptedConnection:
        """Return a new connection on which one node sends requests to another."""
        connection = self._lasting(sender, receiver, self.user_of_node(sender))
        connection.is_of_node = True
        return connection

    def alone(
        self,
        sender: Address,
        receiver: NodeId,
        identity: Identity | None,
        passwords: Mapping[str, str] | None = None,
    ) -> AcceptedConnection:
        """Return a new connection that is not kept.

        Args:
            sender: the address of its client.
            receiver: the node that accepts it.
            identity: see `AcceptedConnection`.
            passwords: see `ExpectedSession`; None for that of the identity.
        """
        if self._access is None:
            return AcceptedConnection(Caller(endpoint_of(receiver), None, str(sender)))
        gate = self._access.gates[receiver]
        if passwords is None:
            passwords = {} if identity is None else {identity.user: identity.password}
        expected = ExpectedSession(lambda: gate.known, passwords)
        return AcceptedConnection(gate.new_caller(str(sender)), expected, identity)

    def _lasting(self, sender: Address, receiver: NodeId, identity: Identity | None) -> AcceptedConnection:
        """Return a new connection for many requests."""
        connection = self.alone(sender, receiver, identity)
        has_faults = self._access is not None and self._access.has_faults
        connection.is_forgetful = has_faults and self._dice.chance(self._forgetful_percent)
        return connection

    def instead_of(self, connection: AcceptedConnection) -> AcceptedConnection:
        """Return the connection that replaces one that has ended, for a request that was sent on it."""
        lane = connection.lane
        assert lane is not None, "other connections are not replaced"
        if self._kept.get(lane) is connection:
            del self._kept[lane]
        return self.on(lane, connection.identity)

    def forget(self, node_id: NodeId) -> None:
        """Drop the connections from and to a node whose process has ended."""
        self._kept = {lane: kept for lane, kept in self._kept.items() if node_id not in lane}
