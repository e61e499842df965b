"""The requests of one connection between nodes, at the node that has accepted it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from raft.node.request_frames import is_fetch
from raft.wire.frames import ReceivedRequest, decode_request
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.inbound import Inbound, Received
from tests.simulation.marks import Mark
from tests.simulation.message import Message
from tests.simulation.round_trip import PostedRequest, RoundTrip

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.post_office import PostOffice

SendResponse = Callable[[Message, bytes], None]
"""Sends a response, with its bytes, to the other side."""


class PeerRequests:
    """Begins the requests of a connection in their order and in its turns, and sends their responses in that order.

    A Fetch waits until all requests before it have responses; see `raft.node.inbound`.

    Args:
        receiver: the machine of the node.
        accepted: the connection as its process knows it.
        post_office: carries the requests.
        send_response: sends a response on the connection.
    """

    def __init__(
        self, receiver: Machine, accepted: AcceptedConnection, post_office: PostOffice, send_response: SendResponse
    ) -> None:
        self.receiver = receiver
        self._accepted = accepted
        self._post_office = post_office
        self._send_response = send_response
        self._inbound: Inbound | None = None
        self._under_way: dict[RoundTrip, tuple[Message, bytes] | None] = {}
        """The requests that have begun, in their order, each with its response; None while it has none."""
        self._has_ended = False

    @property
    def is_open(self) -> bool:
        """Whether the process that runs on the machine has the connection."""
        is_running = self.receiver.process is not None
        return is_running and not self._has_ended and self._accepted.is_open_at(self.receiver)

    def arrive(self, action: Callable[[], None]) -> None:
        """Let the process handle what has arrived on the connection, unless it has ended by then."""
        process = self.receiver.process
        assert process is not None, "the connection is open"
        process.arrive(self._accepted.caller, lambda: None if self._has_ended else action())

    def deliver(self, round_trip: RoundTrip) -> None:
        """Let a request arrive."""
        if self._inbound is None:
            assert self.receiver.process is not None, "the connection is open"
            self._inbound = self.receiver.process.inbound(self._accepted, self._may_begin)
        self._inbound.deliver([Received(lambda: self._begin(round_trip), is_fetch=is_fetch(round_trip.frame))])

    def respond(self, round_trip: RoundTrip, message: Message, frame: bytes) -> None:
        """Take the response to a request; it is sent after the responses to the requests before it."""
        if self._has_ended:
            return
        under_way = self._under_way
        under_way[round_trip] = message, frame
        while under_way and (response := under_way[first := next(iter(under_way))]) is not None:
            del under_way[first]
            self._send_response(*response)
        if self._inbound is not None:
            self._inbound.resume()

    def abandon(self) -> None:
        """Drop all requests: one side has closed the connection."""
        self._has_ended = self._accepted.is_abandoned = True
        if self._inbound is not None:
            self._inbound.close()
        under_way, self._under_way = self._under_way, {}
        for round_trip in under_way:
            waiting = round_trip.waiting
            if waiting is not None and not waiting.process.is_over:
                waiting.abandon()

    def _may_begin(self, request: Received) -> bool:
        has_to_wait = request.is_fetch and bool(self._under_way)
        self._post_office.marks.count(Mark.FETCH_WAITED_FOR_ANOTHER, has_to_wait)
        return not has_to_wait

    def _begin(self, round_trip: RoundTrip) -> None:
        process = self.receiver.process
        assert process is not None, "its event loop runs this"
        received = decode_request(round_trip.frame)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        self._under_way[round_trip] = None
        round_trip.waiting = PostedRequest(self._post_office, round_trip, process, received, self._accepted)
        process.handle(self._accepted, received, round_trip.waiting)
