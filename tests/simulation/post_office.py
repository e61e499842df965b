"""Requests to nodes, of other nodes and of clients, and the responses to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from raft.codec import Message as WireMessage
from raft.core.effects import SendRequest
from raft.core.events import Failure, RequestFailed, ResponseReceived
from raft.core.messages import FetchRequest, IncomingResponse, OutgoingRequest
from raft.errors import LocalProtocolError
from raft.runtime.caller import Caller
from raft.types import Endpoint, NodeId
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request
from raft.wire.mapping.replica_messages import api_of, request_from_wire, request_to_wire, response_from_wire
from raft.wire.messages.fetch import FetchResponse
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.connections import Connection, Lane
from tests.simulation.dice import Dice
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Address, Message
from tests.simulation.network import Fate, Network
from tests.simulation.round_trip import PostedRequest, RoundTrip
from tests.simulation.starting import OURS, endpoint_of
from tests.simulation.versions import Versions

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.process import Process

_REMEMBERED = 200
_SIZE_BYTES = 4
_CORRELATION_ID = 7


class PostOffice:
    """Brings requests to nodes and responses back, over a network that loses, delays and repeats them.

    All of them travel as the bytes of the wire. Responses find only the very life that asked: connections end with the
    process.

    Attributes:
        machines: who listens where; filled by the world when it has made them.
        posted: told of each message between nodes, when it is handed in, with what becomes of it; None for nobody.
    """

    def __init__(self, network: Network, versions: Versions, *, dice: Dice, marks: Marks) -> None:
        self.machines: Mapping[Endpoint, Machine] = {}
        self.posted: Callable[[Message, Fate], None] | None = None
        self._network = network
        self._versions = versions
        self._dice = dice
        self._marks = marks
        # Of the many that are never answered only the newest can matter: their senders have given up the others.
        self._round_trips: deque[RoundTrip] = deque(maxlen=_REMEMBERED)
        self._lost_connections: set[Connection] = set()
        self._misdirected: dict[NodeId, Machine] = {}
        self._refusing: set[tuple[NodeId, NodeId]] = set()

    def calm_down(self) -> None:
        """Let all nodes be of our version, and every address lead to its node, from now on.

        Connections that lead nowhere go on doing so: it is for the nodes to find that out.
        """
        self._versions.old_nodes = ()
        self._misdirected.clear()
        self._refusing.clear()

    # Between nodes

    def send(self, sender: Process, order: SendRequest) -> None:
        """Bring a node's request to another one; the sender is told as `raft.runtime.network.Network` says."""
        one = sender.machine.node_id
        receiver = self._receiver_at(order.endpoint)
        version = self._versions.between(one, order.node_id if receiver is None else receiver.node_id, order.request)
        asked_as = type(sender.core.role)
        frame = _frame_or_none(order, version)

        def on_response(response_frame: bytes) -> None:
            self._marks.count(Mark.LATE_RESPONSE, type(sender.core.role) is not asked_as)
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
        if Connection(one, order.node_id, Lane.of(order.request)) in self._lost_connections:
            self._marks.count(Mark.SENT_ON_LOST_CONNECTION)
        elif receiver is None:
            self._marks.count(Mark.SENT_TO_DEAD_ADDRESS)
            self._turn_away(round_trip)
        elif (one, receiver.node_id) in self._refusing:
            self._marks.count(Mark.CONNECTION_REFUSED_BY_FIREWALL)
            self._refuse(round_trip)
        elif frame is None:
            self._marks.count(Mark.OLD_PEER_CANNOT_PRE_VOTE)
            self._network.carry(Message(one, one), lambda: self.fail(round_trip, Failure.UNSUPPORTED_VERSION))
        else:
            self._carry_there(round_trip, receiver)

    def disconnect(self, sender: Process, node_id: NodeId) -> None:
        """Close a node's connections to another one: its requests on them fail."""
        self._end_lost_connections(sender.machine.node_id, node_id)
        for round_trip in self._open_round_trips():
            if round_trip.process is sender and round_trip.receiver == node_id:
                self.fail(round_trip)

    def reset(self, one: NodeId, other: NodeId) -> None:
        """Break the connections between two nodes: requests on them fail, responses on them are lost."""
        self._end_lost_connections(one, other)
        self._end_lost_connections(other, one)
        for round_trip in self._open_round_trips():
            if {round_trip.sender, round_trip.receiver} == {one, other}:
                self._marks.count(Mark.CONNECTION_RESET)
                self.fail(round_trip)

    def lose(self, connection: Connection) -> None:
        """Let a connection lead nowhere until its sender drops it."""
        self._lost_connections.add(connection)

    def forget_connections(self, node_id: NodeId) -> None:
        """A process has ended, and all its connections with it."""
        self._lost_connections = {lost for lost in self._lost_connections if lost.sender != node_id}

    def misdirect(self, meant: NodeId, found: Machine) -> None:
        """Let the address of a node lead to another."""
        self._misdirected[meant] = found

    def direct(self, meant: NodeId) -> None:
        """Let it lead to the right one again."""
        self._misdirected.pop(meant, None)

    def refuse(self, sender: NodeId, receiver: NodeId) -> None:
        """Refuse the connections of one node to another, as a firewall between them does."""
        self._refusing.add((sender, receiver))

    def admit(self, sender: NodeId, receiver: NodeId) -> None:
        """Let them through again."""
        self._refusing.discard((sender, receiver))

    # From clients, and from those who are not what they say

    def ask(
        self,
        sender: Address,
        endpoint: Endpoint,
        frame: bytes,
        *,
        on_response: Callable[[bytes], None],
        on_failure: Callable[[Failure], None] = lambda _: None,
        request: OutgoingRequest | None = None,
    ) -> RoundTrip:
        """Bring a request to the node that listens at an endpoint.

        Args:
            sender: whose it is.
            endpoint: of the node.
            frame: the request, with its size.
            on_response: gets the frame of the response, without its size.
            on_failure: told if there will be none; silence is possible too.
            request: what it says, if it is one that nodes make.

        Returns:
            What `abandon` takes.
        """
        receiver = self._receiver_at(endpoint)
        address = sender if receiver is None else receiver.node_id
        round_trip = RoundTrip(
            sender, address, frame[_SIZE_BYTES:], on_response=on_response, on_failure=on_failure, request=request
        )
        if receiver is None:
            self._turn_away(round_trip)
        else:
            self._carry_there(round_trip, receiver)
        return round_trip

    def abandon(self, round_trip: RoundTrip) -> None:
        """The sender has closed its connection: no response comes any more."""
        round_trip.is_open = False
        self._tell_that_nobody_waits(round_trip)

    # What the requests do that have come to a node

    def bring_back(self, round_trip: RoundTrip, process: Process, frame: bytes, version: int) -> None:
        """Carry a response back."""
        message = Message(
            process.machine.node_id, round_trip.sender, round_trip.request, is_response=True, round_trip=round_trip
        )
        if self.posted is not None and round_trip.request is not None:
            message = message._replace(response=self._read_response(round_trip.request, frame, version))
        fate = self._network.carry(message, lambda: self._arrive(round_trip, frame))
        if self.posted is not None and round_trip.request is not None:
            self.posted(message, fate)

    def hang_up(self, round_trip: RoundTrip, process: Process) -> None:
        """A node has closed the connection of a request."""
        message = Message(process.machine.node_id, round_trip.sender, is_response=True)
        self._network.carry(message, lambda: self.fail(round_trip))

    def damaged(self, round_trip: RoundTrip, response: WireMessage) -> WireMessage:
        """Return a response as it leaves a node: perhaps with damaged records, if it goes to another node."""
        if not isinstance(round_trip.request, FetchRequest) or not isinstance(response, FetchResponse):
            return response
        topics = tuple(
            replace(
                topic,
                partitions=tuple(
                    replace(partition, records=self._network.damaged(partition.records))
                    if partition.records
                    else partition
                    for partition in topic.partitions
                ),
            )
            for topic in response.responses
        )
        return replace(response, responses=topics)

    # On the way

    def _receiver_at(self, endpoint: Endpoint) -> Machine | None:
        receiver = self.machines.get(Endpoint(endpoint.host, endpoint.port))
        return None if receiver is None else self._misdirected.get(receiver.node_id, receiver)

    def _carry_there(self, round_trip: RoundTrip, receiver: Machine) -> None:
        message = Message(round_trip.sender, receiver.node_id, round_trip.request, round_trip=round_trip)
        fate = self._network.carry(message, lambda: self._deliver(round_trip, receiver), may_repeat=True)
        if self.posted is not None and round_trip.request is not None:
            self.posted(message, fate)

    def _deliver(self, round_trip: RoundTrip, receiver: Machine) -> None:
        process = receiver.process
        if process is None:
            self._turn_away(round_trip)
            return
        received = decode_request(round_trip.frame)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        round_trip.waiting = PostedRequest(self, round_trip, process, received)
        caller = Caller(endpoint_of(receiver.node_id), None, str(round_trip.sender))
        process.receive(caller, received, round_trip.waiting)

    def _turn_away(self, round_trip: RoundTrip) -> None:
        """Nobody listens there: the sender hears of it, or does not."""
        if self._dice.chance(self._network.refused_percent):
            self._refuse(round_trip)

    def _refuse(self, round_trip: RoundTrip) -> None:
        message = Message(round_trip.receiver, round_trip.sender, is_response=True)
        self._network.carry(message, lambda: self.fail(round_trip, Failure.CONNECTION_REFUSED))

    def _arrive(self, round_trip: RoundTrip, frame: bytes) -> None:
        if round_trip.is_awaited:
            round_trip.end(frame)

    def fail(self, round_trip: RoundTrip, failure: Failure = Failure.DISCONNECTED) -> None:
        """Tell the sender that there will be no response."""
        if round_trip.is_awaited:
            self._tell_that_nobody_waits(round_trip)
            round_trip.fail(failure)

    def _tell_that_nobody_waits(self, round_trip: RoundTrip) -> None:
        """The node that was asked sees the connection end, sooner or later."""
        waiting = round_trip.waiting
        if waiting is not None:
            message = Message(round_trip.sender, waiting.process.machine.node_id)
            self._network.carry(message, lambda: waiting.process.soon(waiting.abandon))

    def _end_lost_connections(self, sender: NodeId, receiver: NodeId) -> None:
        for lane in Lane:
            lost = Connection(sender, receiver, lane)
            if lost in self._lost_connections:
                self._lost_connections.remove(lost)
                self._marks.count(Mark.CONNECTION_MADE_ANEW)

    def _open_round_trips(self) -> list[RoundTrip]:
        return [round_trip for round_trip in self._round_trips if round_trip.is_awaited]

    def _read_response(self, request: object, frame: bytes, version: int) -> IncomingResponse:
        api = api_of(request)  # type: ignore[arg-type]  # nodes ask nothing else
        return response_from_wire(decode_response(frame, api, version)[1])


def _frame_or_none(order: SendRequest, version: int) -> bytes | None:
    """Return a request as a frame without its size; None if this version cannot express it (COMPAT-2).

    Raises:
        BrokenInvariantError: the newest version has lost something of it.
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
