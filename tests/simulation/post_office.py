"""Carries the requests of nodes and clients to nodes, and the responses back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from raft.core.effects import SendRequest
from raft.core.events import Failure, RequestFailed, ResponseReceived
from raft.core.messages import OutgoingRequest
from raft.types import Endpoint, NodeId
from raft.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.frames import ReceivedRequest, decode_request
from tests.simulation.accepted import AcceptedConnection, AcceptedConnections, ClientConnection, Lane
from tests.simulation.connections import Connection, ConnectionKind
from tests.simulation.dice import Dice
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Address, Message
from tests.simulation.network import Fate, Network
from tests.simulation.peer_connection import PeerConnection
from tests.simulation.peer_frames import frame_or_none, read_response
from tests.simulation.round_trip import PostedRequest, RoundTrip
from tests.simulation.versions import Versions

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process
    from tests.simulation.security.identity import Identity

_SIZE_BYTES = 4
_API_KEY_BYTES = 2
_REPORTED_LOSSES_PERCENT = 50
_OF_SASL = (SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key)


class PostOffice:
    """Encodes requests and responses as bytes, and carries them over a network that loses, delays and repeats them.

    A response reaches only the process that sent the request, because connections end with the process.

    Attributes:
        machines: the machines by their endpoints; set by the world.
        network: carries the bytes.
        marks: the coverage marks.
        posted: called for each message between nodes when it is sent, with its fate; None for no callback.
    """

    def __init__(
        self, network: Network, versions: Versions, accepted: AcceptedConnections, *, dice: Dice, marks: Marks
    ) -> None:
        self.machines: Mapping[Endpoint, Machine] = {}
        self.posted: Callable[[Message, Fate], None] | None = None
        self.network = network
        self.marks = marks
        self._versions = versions
        self._accepted = accepted
        self._dice = dice
        self._connections: dict[Connection, PeerConnection] = {}
        self._half_open: set[Connection] = set()
        """Connections that will be half open as soon as they are opened."""
        self._misdirected: dict[NodeId, Machine] = {}
        self._refusing: set[tuple[NodeId, NodeId]] = set()

    def end_faults(self) -> None:
        """Upgrade all nodes, restore all addresses and accept all connections.

        Half-open connections stay as they are: the nodes have to replace them.
        """
        self._versions.old_nodes = ()
        self._misdirected.clear()
        self._refusing.clear()

    # Between nodes

    def send(self, sender: Process, order: SendRequest) -> None:
        """Send a request from one node to another; see `raft.runtime.network.Network.send`."""
        one = sender.machine.node_id
        key = Connection(one, order.node_id, ConnectionKind.of(order.request))
        connection = self._connection(key, sender, order.endpoint)
        receiver = connection.receiver
        version = self._versions.between(one, order.node_id if receiver is None else receiver.node_id, order.request)
        role_when_sent = type(sender.core.role)

        def on_response(response_frame: bytes) -> None:
            self.marks.count(Mark.LATE_RESPONSE, type(sender.core.role) is not role_when_sent)
            response = read_response(order.request, response_frame, version)
            sender.submit(ResponseReceived(number=order.number, response=response))

        round_trip = RoundTrip(
            one,
            order.node_id,
            frame_or_none(order, version) or b"",
            on_response=on_response,
            on_failure=lambda failure: sender.submit(RequestFailed(number=order.number, failure=failure)),
            request=order.request,
            process=sender,
            number=order.number,
        )
        round_trip.identity = self._accepted.user_of_node(one)
        connection.send(round_trip)

    def _connection(self, key: Connection, sender: Process, endpoint: Endpoint) -> PeerConnection:
        """Return the connection of a node to another one, which is opened if there is none."""
        is_refused = (key.sender, key.receiver) in self._refusing
        self.marks.count(Mark.CONNECTION_REFUSED_BY_FIREWALL, is_refused)
        connection = self._connections.get(key)
        if connection is not None and is_refused and connection.receiver is not None:
            connection.close()
        if connection is None or connection.is_closed:
            receiver = None if is_refused else self._receiver_at(endpoint)
            self.marks.count(Mark.SENT_TO_DEAD_ADDRESS, receiver is None and not is_refused)
            is_half_open = key in self._half_open
            self._half_open.discard(key)
            connection = PeerConnection(key, sender, receiver, self, is_half_open=is_half_open)
            self._connections[key] = connection
        return connection

    def accepted_between(self, sender: NodeId, receiver: NodeId) -> AcceptedConnection:
        """Return a new connection of one node to another, as the other one knows it."""
        return self._accepted.between_nodes(sender, receiver)

    def new_connection(self, sender: Address, receiver: NodeId, identity: Identity | None) -> AcceptedConnection:
        """Return a new connection of a client to a node, as the node knows it; see `AcceptedConnections.alone`."""
        return self._accepted.alone(sender, receiver, identity)

    def disconnect(self, sender: Process, node_id: NodeId) -> None:
        """Close the connections of a node to another one: the requests on them fail."""
        for connection in self._between(sender.machine.node_id, node_id):
            connection.close()

    def reset(self, one: NodeId, other: NodeId) -> None:
        """Reset the connections between two nodes: the requests on them fail."""
        for connection in (*self._between(one, other), *self._between(other, one)):
            self.marks.count(Mark.CONNECTION_RESET, connection.is_busy)
            connection.close()

    def make_half_open(self, connection: Connection) -> None:
        """Lose everything on a connection, without an error, until its sender closes it."""
        opened = self._connections.get(connection)
        if opened is None or opened.is_closed:
            self._half_open.add(connection)
        else:
            opened.make_half_open()

    def forget_connections(self, node_id: NodeId) -> None:
        """Drop the connections from and to a node whose process has ended."""
        for key in [key for key in self._connections if key.sender == node_id]:
            self._connections.pop(key).sender_ended()
        self._half_open = {lost for lost in self._half_open if lost.sender != node_id}
        self._accepted.forget(node_id)

    def _between(self, sender: NodeId, receiver: NodeId) -> list[PeerConnection]:
        keys = [Connection(sender, receiver, kind) for kind in ConnectionKind]
        return [self._connections[key] for key in keys if key in self._connections]

    # Called by connections between nodes

    def report(self, message: Message, fate: Fate) -> None:
        """Report a message between nodes that was sent."""
        if self.posted is not None and message.request is not None:
            self.posted(message, fate)

    def maybe_repeat(self, round_trip: RoundTrip, receiver: Machine) -> None:
        """Let a request arrive once more, now and then, from a connection that was closed since."""
        self.network.maybe_repeat(lambda: self._deliver(round_trip.copy(), receiver))

    def is_refused(self, connection: Connection) -> bool:
        """Whether a connection that no process accepts is refused; if not, its sender gets no response."""
        is_by_firewall = (connection.sender, connection.receiver) in self._refusing
        return is_by_firewall or self._dice.chance(self.network.refused_percent)

    def is_loss_reported(self) -> bool:
        """Whether the sender on a connection is told that a message was lost."""
        return self._dice.chance(_REPORTED_LOSSES_PERCENT)

    # Faults of addresses

    def misdirect(self, meant: NodeId, found: Machine) -> None:
        """Make the address of a node lead to another machine."""
        self._misdirected[meant] = found

    def restore_address(self, meant: NodeId) -> None:
        """Make the address of a node lead to that node again."""
        self._misdirected.pop(meant, None)

    def refuse(self, sender: NodeId, receiver: NodeId) -> None:
        """Refuse the connections of one node to another, like a firewall between them."""
        self._refusing.add((sender, receiver))

    def accept(self, sender: NodeId, receiver: NodeId) -> None:
        """Accept these connections again."""
        self._refusing.discard((sender, receiver))

    # From clients, and from simulated attackers

    def send_frame(
        self,
        sender: Address,
        endpoint: Endpoint,
        frame: bytes,
        *,
        on_response: Callable[[bytes], None],
        on_failure: Callable[[Failure], None] = lambda _: None,
        request: OutgoingRequest | None = None,
        identity: Identity | None = None,
        connection: ClientConnection | None = None,
    ) -> RoundTrip:
        """Send a request to the node at an endpoint.

        Args:
            sender: the address of the sender.
            endpoint: the endpoint of the node.
            frame: the bytes of the request, with the size field.
            on_response: gets the bytes of the response, without the size field.
            on_failure: called if the request fails; a lost message calls neither of the two.
            request: the decoded request, if it is one that nodes send to each other.
            identity: the user of the sender, on whose connection to this node it is sent; None for a connection of this
                request alone, in a plan without security.
            connection: the connection of a client that proves its name itself; None for another client.

        Returns:
            The argument of `abandon`.
        """
        receiver = self._receiver_at(endpoint)
        address = sender if receiver is None else receiver.node_id
        round_trip = RoundTrip(
            sender, address, frame[_SIZE_BYTES:], on_response=on_response, on_failure=on_failure, request=request
        )
        if receiver is None:
            self._fail_unreachable(round_trip)
        elif connection is not None:
            self._send_on(connection, round_trip, receiver)
        else:
            if identity is not None:
                lane = Lane(sender, receiver.node_id)
                round_trip.connection, round_trip.identity = self._accepted.on(lane, identity), identity
            self._carry_request(round_trip, receiver)
        return round_trip

    def _send_on(self, connection: ClientConnection, round_trip: RoundTrip, receiver: Machine) -> None:
        """Send a request on the connection of a client. The network repeats no messages of SASL there."""
        if connection.receiver is None:
            connection.receiver = receiver
            connection.accepted = self._accepted.alone(round_trip.sender, receiver.node_id, None, connection.passwords)
        if connection.receiver is not receiver:
            # The address leads to another machine now, which does not know the connection.
            message = Message(receiver.node_id, round_trip.sender, is_response=True)
            self.network.carry(message, lambda: self.fail(round_trip))
            return
        round_trip.connection, round_trip.is_bound = connection.accepted, True
        round_trip.identity = connection.copied_by
        is_of_sasl = int.from_bytes(round_trip.frame[:_API_KEY_BYTES], "big") in _OF_SASL
        self._carry_request(round_trip, receiver, may_repeat=connection.copied_by is not None and not is_of_sasl)

    def abandon(self, round_trip: RoundTrip) -> None:
        """Close the connection of the sender: it gets no response any more."""
        round_trip.is_open = False
        self._report_disconnect(round_trip)

    # Called by requests at the node that handles them

    def send_response(self, round_trip: RoundTrip, process: Process, frame: bytes, version: int) -> None:
        """Send a response to the sender of the request."""
        message = Message(
            process.machine.node_id, round_trip.sender, round_trip.request, is_response=True, round_trip=round_trip
        )
        if self.posted is not None and round_trip.request is not None:
            message = message._replace(response=read_response(round_trip.request, frame, version))
        if round_trip.source is None:
            self.report(message, self.network.carry(message, lambda: self._arrive(round_trip, frame)))
        else:
            round_trip.source.respond(round_trip, message, frame)

    def close_connection(self, round_trip: RoundTrip, process: Process) -> None:
        """Close the connection of a request at the node that received it."""
        if round_trip.source is not None:
            round_trip.source.reset_by_receiver()
            return
        message = Message(process.machine.node_id, round_trip.sender, is_response=True)
        self.network.carry(message, lambda: self.fail(round_trip))

    # Delivery

    def _receiver_at(self, endpoint: Endpoint) -> Machine | None:
        receiver = self.machines.get(Endpoint(endpoint.host, endpoint.port))
        return None if receiver is None else self._misdirected.get(receiver.node_id, receiver)

    def _carry_request(self, round_trip: RoundTrip, receiver: Machine, *, may_repeat: bool = True) -> None:
        message = Message(round_trip.sender, receiver.node_id, round_trip.request, round_trip=round_trip)
        fate = self.network.carry(message, lambda: self._deliver(round_trip, receiver))
        self.report(message, fate)
        if may_repeat and fate is Fate.CARRIED:
            self.network.maybe_repeat(lambda: self._deliver(round_trip, receiver))

    def _deliver(self, round_trip: RoundTrip, receiver: Machine) -> None:
        process = receiver.process
        if process is None:
            self._fail_unreachable(round_trip)
            return
        # A late copy comes from a connection that is closed by now, and so has not received any response.
        connection, round_trip.connection = round_trip.connection, None
        if connection is None:
            connection = self._accepted.alone(round_trip.sender, receiver.node_id, round_trip.identity)
        elif connection.expected is not None and not connection.is_open_at(receiver):
            if round_trip.is_bound:
                self.close_connection(round_trip, process)
                return
            connection = self._accepted.instead_of(connection)
        received = decode_request(round_trip.frame)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        round_trip.waiting = PostedRequest(self, round_trip, process, received, connection)
        process.receive(connection, received, round_trip.waiting)

    def _fail_unreachable(self, round_trip: RoundTrip) -> None:
        """Refuse the connection because no node listens there, or leave the sender without a response."""
        if self._dice.chance(self.network.refused_percent):
            self._refuse(round_trip)

    def _refuse(self, round_trip: RoundTrip) -> None:
        message = Message(round_trip.receiver, round_trip.sender, is_response=True)
        self.network.carry(message, lambda: self.fail(round_trip, Failure.CONNECTION_REFUSED))

    def _arrive(self, round_trip: RoundTrip, frame: bytes) -> None:
        if round_trip.is_awaited:
            round_trip.end(frame)

    def fail(self, round_trip: RoundTrip, failure: Failure = Failure.DISCONNECTED) -> None:
        """Report to the sender that there will be no response."""
        if round_trip.is_awaited:
            self._report_disconnect(round_trip)
            round_trip.fail(failure)

    def _report_disconnect(self, round_trip: RoundTrip) -> None:
        """Report to the node that handles the request that its sender has disconnected."""
        waiting = round_trip.waiting
        if waiting is not None:
            message = Message(round_trip.sender, waiting.process.machine.node_id)
            self.network.carry(message, lambda: waiting.process.soon(waiting.abandon))
