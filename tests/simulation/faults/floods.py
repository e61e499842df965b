"""Clients that send small requests on many connections, without a pause."""

from __future__ import annotations

from typing import NamedTuple

from raft.wire.apis import API_VERSIONS
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.dice import Dice
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.inbound import Received
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark
from tests.simulation.message import Address, Message
from tests.simulation.round_trip import PostedRequest, RoundTrip
from tests.simulation.security.users import MONITOR
from tests.simulation.starting import FLOODING

_ADDRESS = -3_000
_SIZE_BYTES = 4
_VERSION = 2
_FRAME = encode_request(ApiVersionsRequest(), _VERSION, correlation_id=2, client_id=FLOODING)[_SIZE_BYTES:]
_DURATION_MS = (50, 300)
_SURE_PAUSE_S = 0.002
"""A throttle is in whole milliseconds."""


class Shape(NamedTuple):
    """The form of a flood.

    Fields:
        clients: how many clients send requests.
        connections: how many connections each of them has.
        burst: how many requests each connection sends at once.
    """

    clients: int
    connections: int
    burst: int


SHAPES = (
    Shape(clients=1, connections=100, burst=20),
    Shape(clients=2, connections=2, burst=100),
    Shape(clients=80, connections=1, burst=10),
)


class FloodingConnection:
    """Sends the next requests before the last ones have responses, until the flood ends or the node closes it.

    Args:
        address: of its client.
        machine: of the node.
        accepted: the connection, as the node knows it.
        burst: how many requests it sends at once.
        targets: the parts of the world that it uses.
    """

    def __init__(
        self, address: Address, machine: Machine, accepted: AcceptedConnection, burst: int, targets: Targets
    ) -> None:
        self._address = address
        self._machine = machine
        self._accepted = accepted
        self._burst = burst
        self._targets = targets
        self._unanswered = 0
        self._is_over = False
        received = decode_request(_FRAME)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        self._request = received

    def send(self) -> None:
        """Send requests."""
        process = self._machine.process
        if self._is_over or process is None or not self._accepted.is_open_at(self._machine):
            return
        self._unanswered += self._burst
        process.inbound(self._accepted).deliver([Received(self._begin)] * self._burst)

    def end(self) -> None:
        """Close the connection. The node drops the requests that have not begun."""
        process = self._machine.process
        self._is_over = True
        if process is not None and self._accepted.is_open_at(self._machine):
            process.arrive(self._accepted.caller, process.inbound(self._accepted).close)

    def respond(self, round_trip: RoundTrip, message: Message, frame: bytes) -> None:
        """Receive a response; see `RequestSource.respond`."""
        self._unanswered -= 1
        self._check_throttle(frame)
        if self._unanswered == self._burst // 2:
            self._targets.timeline.after(1, self.send)

    def _check_throttle(self, frame: bytes) -> None:
        """Check that a response says whether the client is throttled.

        Raises:
            BrokenInvariantError: it does not.
        """
        process = self._machine.process
        if process is None or process.quotas is None or self._is_over:
            return
        _, response = decode_response(frame, API_VERSIONS, _VERSION)
        said_ms, pace = response.throttle_time_ms, process.inbound(self._accepted).pace
        pause_s = 0.0 if pace is None else pace.pause_s(process.now_ms / 1_000, after=process.turns.turn_s)
        if (said_ms == 0 and pause_s >= _SURE_PAUSE_S) or (said_ms > 0 and pause_s <= 0):
            detail = f"{self._machine}: a response says that its client is throttled for {said_ms} ms"
            raise BrokenInvariantError("ResponsesSayThrottles", ("QUOTA-3",), detail)

    def reset_by_receiver(self) -> None:
        """See `RequestSource.reset_by_receiver`."""
        self._is_over = True

    def _begin(self) -> None:
        process = self._machine.process
        assert process is not None, "its event loop runs this"
        self._targets.marks.count(Mark.FLOODING_REQUEST_SERVED)
        round_trip = RoundTrip(
            self._address, process.machine.node_id, _FRAME, on_response=lambda _: None, on_failure=lambda _: None
        )
        round_trip.source = self
        round_trip.waiting = PostedRequest(
            self._targets.post_office, round_trip, process, self._request, self._accepted
        )
        process.handle(self._accepted, self._request, round_trip.waiting)


class Flood:
    """The flooding clients of one node.

    Args:
        machine: of the node.
        shape: how many they are.
        targets: the parts of the world that they use.
    """

    def __init__(self, machine: Machine, shape: Shape, targets: Targets) -> None:
        access, post_office = targets.access, targets.post_office
        identity = None if access is None else access.user(MONITOR)
        addresses = [_ADDRESS - client for client in range(shape.clients) for _ in range(shape.connections)]
        self._connections = [
            FloodingConnection(
                address, machine, post_office.new_connection(address, machine.node_id, identity), shape.burst, targets
            )
            for address in addresses
        ]

    def begin(self) -> None:
        """Begin to send requests."""
        for connection in self._connections:
            connection.send()

    def end(self) -> None:
        """End it."""
        for connection in self._connections:
            connection.end()


def draw_flood(machine: Machine, targets: Targets, dice: Dice) -> Flood:
    """Return a flood of any shape."""
    return Flood(machine, dice.pick(SHAPES), targets)


class Floods(Nemesis):
    """Floods a node with requests for some time."""

    kind = Fault.FLOOD

    def _strike(self) -> bool:
        victim, targets = self._pick_victim(), self._targets
        if victim is None:
            return False
        duration_ms = self._dice.between(_DURATION_MS)
        targets.run_log.add("clients", "flood %s for %s ms", victim, duration_ms)
        flood = draw_flood(victim, targets, self._dice)
        flood.begin()
        targets.timeline.after(duration_ms, flood.end)
        return True
