"""Carries the requests of nodes and clients to nodes, and the responses back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from raft.codec import Message as WireMessage
from raft.core.effects import SendRequest
from raft.core.events import Failure, RequestFailed, ResponseReceived
from raft.core.messages import FetchRequest, OutgoingRequest, Response
from raft.errors import LocalProtocolError
from raft.types import Endpoint, NodeId
from raft.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request
from raft.wire.mapping.replica_messages import api_of, request_from_wire, request_to_wire, response_from_wire
from raft.wire.messages.fetch import FetchResponse
from raft.wire.messages.fetch_snapshot import FetchSnapshotResponse
from tests.simulation.accepted import AcceptedConnections, ClientConnection, Lane
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.connections import Connection, ConnectionKind
from tests.simulation.dice import Dice
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Address, Message
from tests.simulation.network import Fate, Network
from tests.simulation.round_trip import PostedRequest, RoundTrip
from tests.simulation.starting import OURS
from tests.simulation.versions import Versions

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process
    from tests.simulation.security.identity import Identity

_KEPT_ROUND_TRIPS = 200
_SIZE_BYTES = 4
_CORRELATION_ID = 7
_API_KEY_BYTES = 2
_OF_SASL = (SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key)


class PostOffice:
    """Encodes requests and responses as bytes, and carries them over a network that loses, delays and repeats them.

    A response reaches only the process that sent the request, because connections end with the process.

    Attributes:
        machines: the machines by their endpoints; set by the world.
        posted: called for each message between nodes when it is sent, with its fate; None for no callback.
    """

    def __init__(
        self, network: Network, versions: Versions, accepted: AcceptedConnections, *, dice: Dice, marks: Marks
    ) -> None:
        self.machines: Mapping[Endpoint, Machine] = {}
        self.posted: Callable[[Message, Fate], None] | None = None
        self._network = network
        self._versions = versions
        self._accepted = accepted
        self._dice = dice
        self._marks = marks
        # Many get no response. Only the newest matter, because the senders have timed out the others.
        self._round_trips: deque[RoundTrip] = deque(maxlen=_KEPT_ROUND_TRIPS)
        self._half_open: set[Connection] = set()
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
        receiver = self._receiver_at(order.endpoint)
        version = self._versions.between(one, order.node_id if receiver is None else receiver.node_id, order.request)
        role_when_sent = type(sender.core.role)
        frame = _frame_or_none(order, version)

        def on_response(response_frame: bytes) -> None:
            self._marks.count(Mark.LATE_RESPONSE, type(sender.core.role) is not role_when_sent)
            response = self._read_response(order.request, response_frame, version)
            sender.submit(ResponseReceived(number=order.number, response=response))

        round_trip = RoundTrip(
            one,
            order.node_id,
            frame or b"",
            on_response=on_response,
            on_failure=lambda failure: sender.submit(RequestFailed(number=order.number, failure=failure)),
            request=order.request,
            process=sender,
        )
        self._round_trips.append(round_trip)
        connection = Connection(one, order.node_id, ConnectionKind.of(order.request))
        round_trip.identity = self._accepted.user_of_node(one)
        if receiver is not None:
            lane = Lane(one, order.node_id, receiver.node_id, connection.kind)
            round_trip.connection = self._accepted.on(lane, round_trip.identity)
        if connection in self._half_open:
            self._marks.count(Mark.SENT_ON_HALF_OPEN_CONNECTION)
        elif receiver is None:
            self._marks.count(Mark.SENT_TO_DEAD_ADDRESS)
            self._fail_unreachable(round_trip)
        elif (one, receiver.node_id) in self._refusing:
            self._marks.count(Mark.CONNECTION_REFUSED_BY_FIREWALL)
            self._refuse(round_trip)
        elif frame is None:
            self._marks.count(Mark.OLD_PEER_CANNOT_PRE_VOTE)
            self._network.carry(Message(one, one), lambda: self.fail(round_trip, Failure.UNSUPPORTED_VERSION))
        else:
            self._carry_request(round_trip, receiver)

    def disconnect(self, sender: Process, node_id: NodeId) -> None:
        """Close the connections of a node to another one: the requests on them fail."""
        self._close_connections(sender.machine.node_id, node_id)
        for round_trip in self._open_round_trips():
            if round_trip.process is sender and round_trip.receiver == node_id:
                self.fail(round_trip)

    def reset(self, one: NodeId, other: NodeId) -> None:
        """Reset the connections between two nodes: the requests on them fail."""
        self._close_connections(one, other)
        self._close_connections(other, one)
        for round_trip in self._open_round_trips():
            if {round_trip.sender, round_trip.receiver} == {one, other}:
                self._marks.count(Mark.CONNECTION_RESET)
                self.fail(round_trip)

    def make_half_open(self, connection: Connection) -> None:
        """Lose everything on a connection, without an error, until its sender closes it."""
        self._half_open.add(connection)

    def forget_connections(self, node_id: NodeId) -> None:
        """Drop the connections from and to a node whose process has ended."""
        self._half_open = {lost for lost in self._half_open if lost.sender != node_id}
        self._accepted.forget(node_id)

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
                lane = Lane(sender, receiver.node_id, receiver.node_id, None)
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
            self._network.carry(message, lambda: self.fail(round_trip))
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
            message = message._replace(response=self._read_response(round_trip.request, frame, version))
        fate = self._network.carry(message, lambda: self._arrive(round_trip, frame))
        if self.posted is not None and round_trip.request is not None:
            self.posted(message, fate)

    def close_connection(self, round_trip: RoundTrip, process: Process) -> None:
        """Close the connection of a request at the node that received it."""
        message = Message(process.machine.node_id, round_trip.sender, is_response=True)
        self._network.carry(message, lambda: self.fail(round_trip))

    def damaged(self, round_trip: RoundTrip, response: WireMessage) -> WireMessage:
        """Return a response as it arrives: one to another node may have damaged records, or a damaged snapshot."""
        if isinstance(response, FetchSnapshotResponse):
            return self._with_damaged_snapshot(response)
        if not isinstance(round_trip.request, FetchRequest) or not isinstance(response, FetchResponse):
            return response
        before = [[partition.records for partition in topic.partitions] for topic in response.responses]
        after = [[self._network.damaged(records) if records else records for records in topic] for topic in before]
        return response if after == before else _with_records(response, after)

    def _with_damaged_snapshot(self, response: FetchSnapshotResponse) -> FetchSnapshotResponse:
        """Return a response with a piece of a snapshot; the first piece may be damaged."""
        pieces = [(topic, partition) for topic in response.topics for partition in topic.partitions]
        if not pieces:
            return response
        ((topic, partition),) = pieces
        piece = partition.unaligned_records
        if not piece or partition.position:
            return response
        damaged = replace(partition, unaligned_records=self._network.damaged_snapshot(piece))
        return replace(response, topics=(replace(topic, partitions=(damaged,)),))

    # Delivery

    def _receiver_at(self, endpoint: Endpoint) -> Machine | None:
        receiver = self.machines.get(Endpoint(endpoint.host, endpoint.port))
        return None if receiver is None else self._misdirected.get(receiver.node_id, receiver)

    def _carry_request(self, round_trip: RoundTrip, receiver: Machine, *, may_repeat: bool = True) -> None:
        message = Message(round_trip.sender, receiver.node_id, round_trip.request, round_trip=round_trip)
        fate = self._network.carry(message, lambda: self._deliver(round_trip, receiver), may_repeat=may_repeat)
        if self.posted is not None and round_trip.request is not None:
            self.posted(message, fate)

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
        if self._dice.chance(self._network.refused_percent):
            self._refuse(round_trip)

    def _refuse(self, round_trip: RoundTrip) -> None:
        message = Message(round_trip.receiver, round_trip.sender, is_response=True)
        self._network.carry(message, lambda: self.fail(round_trip, Failure.CONNECTION_REFUSED))

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
            self._network.carry(message, lambda: waiting.process.soon(waiting.abandon))

    def _close_connections(self, sender: NodeId, receiver: NodeId) -> None:
        self._accepted.close(sender, receiver)
        for kind in ConnectionKind:
            lost = Connection(sender, receiver, kind)
            if lost in self._half_open:
                self._half_open.remove(lost)
                self._marks.count(Mark.CONNECTION_REPLACED)

    def _open_round_trips(self) -> list[RoundTrip]:
        return [round_trip for round_trip in self._round_trips if round_trip.is_awaited]

    def _read_response(self, request: object, frame: bytes, version: int) -> Response:
        api = api_of(request)  # type: ignore[arg-type]  # nodes send no other requests
        return response_from_wire(decode_response(frame, api, version)[1])


def _with_records(response: FetchResponse, records: Sequence[Sequence[bytes | None]]) -> FetchResponse:
    """Return a response with other records, given by topic and partition."""
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                replace(partition, records=content)
                for partition, content in zip(topic.partitions, of_topic, strict=True)
            ),
        )
        for topic, of_topic in zip(response.responses, records, strict=True)
    )
    return replace(response, responses=topics)


def _frame_or_none(order: SendRequest, version: int) -> bytes | None:
    """Return a request as bytes without the size field; None if this version cannot express it (COMPAT-2).

    Raises:
        BrokenInvariantError: the request differs after it was encoded and decoded in the newest version.
    """
    try:
        message = request_to_wire(order.request, OURS, version)
        frame = encode_request(message, version, correlation_id=_CORRELATION_ID, client_id=None)[_SIZE_BYTES:]
    except LocalProtocolError:
        return None
    if version == api_of(order.request).versions.highest and not isinstance(order.request, FetchRequest):
        received = decode_request(frame)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        arrived = request_from_wire(received.message, version, OURS)
        if arrived != order.request:
            raise BrokenInvariantError("RequestsSurviveEncoding", ("TEST-16",), f"{order.request} arrives as {arrived}")
    return frame
