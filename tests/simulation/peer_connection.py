"""One connection on which a node sends requests to another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from raft.core.events import Failure
from tests.simulation.connections import Connection
from tests.simulation.marks import Mark
from tests.simulation.message import Message
from tests.simulation.network import Fate
from tests.simulation.peer_requests import PeerRequests
from tests.simulation.round_trip import RoundTrip
from tests.simulation.stream import Stream
from tests.simulation.timeline import Action

if TYPE_CHECKING:
    from tests.simulation.machine import Machine
    from tests.simulation.post_office import PostOffice
    from tests.simulation.process import Process


class PeerConnection:
    """Sends requests in order, once the other node has told its versions; see `raft.node.outbound`.

    A message that the network loses breaks the connection: nothing arrives on it any more, and its sender may be told.

    Args:
        key: the nodes that its sender means it to connect.
        sender: the process that opens it.
        receiver: the machine that its address leads to; None if no node listens there or a firewall refuses it.
        post_office: carries the requests.
        is_half_open: whether everything on it is lost, without an error, until its sender closes it.

    Attributes:
        is_closed: whether its sender has closed it, or knows that it has ended.
    """

    def __init__(
        self,
        key: Connection,
        sender: Process,
        receiver: Machine | None,
        post_office: PostOffice,
        *,
        is_half_open: bool,
    ) -> None:
        self.is_closed = False
        self._key = key
        self._sender = sender
        self._receiver = receiver
        self._post_office = post_office
        self._is_half_open = is_half_open
        self._there, self._back = Stream(), Stream()
        self._unsent: deque[RoundTrip] = deque()
        self._in_flight: dict[RoundTrip, None] = {}
        self._requests: PeerRequests | None = None
        if receiver is not None:
            accepted = post_office.accepted_between(key.sender, receiver.node_id)
            accepted.ended = self.reset_by_receiver
            self._requests = PeerRequests(receiver, accepted, post_office, self._send_response)
        self._is_reset = False
        self._is_ready = not post_office.network.negotiates
        if not self._is_ready:
            self._carry_there(Message(key.sender, key.receiver), self._tell_versions)

    @property
    def receiver(self) -> Machine | None:
        """The machine that it leads to; None if no node has accepted it."""
        return self._receiver

    @property
    def is_busy(self) -> bool:
        """Whether a request on it is without a response."""
        return bool(self._unsent or self._in_flight)

    # At the sender

    def send(self, round_trip: RoundTrip) -> None:
        """Send a request, as soon as the connection is ready for it."""
        self._post_office.marks.count(Mark.SENT_ON_HALF_OPEN_CONNECTION, self._is_half_open)
        round_trip.source = self
        self._unsent.append(round_trip)
        if self._is_ready:
            self._send_waiting()

    def make_half_open(self) -> None:
        """Lose everything that is sent on it from now on, without an error."""
        self._is_half_open = True

    def close(self, failure: Failure = Failure.DISCONNECTED) -> None:
        """Close it. The requests without a response fail, and the receiver abandons them."""
        if self.is_closed:
            return
        self.is_closed = True
        self._post_office.marks.count(Mark.CONNECTION_REPLACED, self._is_half_open)
        if self._requests is not None:
            self._carry_there(Message(self._key.sender, self._key.receiver), self._requests.abandon)
        self._fail_all(failure)

    def sender_ended(self) -> None:
        """Handle the end of the process that has opened it. The receiver does not learn of it."""
        self.is_closed = True

    def _send_waiting(self) -> None:
        marks = self._post_office.marks
        while self._unsent and not self.is_closed:
            round_trip = self._unsent.popleft()
            if not self._sender.core.expects_response(round_trip.number):
                marks.count(Mark.FORGOTTEN_REQUEST_NOT_SENT)
                round_trip.fail(Failure.NOT_SENT)
            elif not round_trip.frame:
                marks.count(Mark.OLD_PEER_CANNOT_PRE_VOTE)
                round_trip.fail(Failure.UNSUPPORTED_VERSION)
            else:
                self._send_request(round_trip)

    def _send_request(self, round_trip: RoundTrip) -> None:
        self._in_flight[round_trip] = None
        receiver_id = self._key.receiver if self._receiver is None else self._receiver.node_id
        message = Message(self._key.sender, receiver_id, round_trip.request, round_trip=round_trip)
        requests, post_office = self._requests, self._post_office

        def deliver() -> None:
            if requests is not None:
                requests.deliver(round_trip)

        fate = self._carry(self._there, message, lambda: self._arrive_there(deliver))
        post_office.report(message, fate)
        if self._receiver is not None and fate is Fate.CARRIED:
            post_office.maybe_repeat(round_trip, self._receiver)

    def _on_versions(self) -> None:
        self._is_ready = True
        self._send_waiting()

    def _on_response(self, round_trip: RoundTrip, frame: bytes) -> None:
        self._in_flight.pop(round_trip, None)
        round_trip.end(frame)

    def _on_reset(self, failure: Failure) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._fail_all(failure)

    def _fail_all(self, failure: Failure) -> None:
        """Fail all requests without a response, each once."""
        failed = [*self._in_flight, *self._unsent]
        self._in_flight.clear()
        self._unsent.clear()
        for round_trip in failed:
            round_trip.fail(failure)

    # At the receiver

    def respond(self, round_trip: RoundTrip, message: Message, frame: bytes) -> None:
        """Send the response to a request, after the responses to the requests before it."""
        if self._requests is not None:
            self._requests.respond(round_trip, message, frame)

    def reset_by_receiver(self) -> None:
        """End it at the receiver, which tells the sender."""
        if self._is_reset:
            return
        self._is_reset = True
        if self._requests is not None:
            self._requests.abandon()
        failure = Failure.DISCONNECTED if self._is_ready else Failure.CONNECTION_REFUSED
        self._carry_back(self._answer(), lambda: self._on_reset(failure))

    def _tell_versions(self) -> None:
        self._carry_back(self._answer(), self._on_versions)

    def _send_response(self, message: Message, frame: bytes) -> None:
        round_trip = message.round_trip
        assert round_trip is not None, "a response to a request"
        self._post_office.report(message, self._carry_back(message, lambda: self._on_response(round_trip, frame)))

    # Between the two

    def _answer(self) -> Message:
        """Return a message without content from the receiver to the sender."""
        return Message(self._key.receiver, self._key.sender, is_response=True)

    def _carry_there(self, message: Message, handle: Action) -> Fate:
        """Carry what the receiver handles as soon as its event loop is free."""
        requests = self._requests
        arrive = handle if requests is None else lambda: requests.arrive(handle)
        return self._carry(self._there, message, lambda: self._arrive_there(arrive))

    def _carry_back(self, message: Message, handle: Action) -> Fate:
        return self._carry(self._back, message, lambda: self._arrive_back(handle))

    def _carry(self, stream: Stream, message: Message, deliver: Callable[[], None]) -> Fate:
        if self._is_half_open:
            return Fate.LOST
        return self._post_office.network.carry_on(stream, message, deliver, self._break)

    def _arrive_there(self, arrive: Action) -> None:
        requests = self._requests
        if requests is not None and requests.is_open:
            arrive()
            return
        # Another process on the machine does not know the connection. A machine without power does not respond.
        is_unknown = requests is not None and requests.receiver.process is not None
        if is_unknown or self._post_office.is_refused(self._key):
            self.reset_by_receiver()

    def _arrive_back(self, handle: Action) -> None:
        if not self.is_closed:
            self._sender.arrive(self, lambda: None if self.is_closed else handle())

    def _break(self) -> None:
        """Handle the loss of a message."""
        self._is_half_open = True
        if self._post_office.is_loss_reported() and not self.is_closed:
            self._post_office.network.carry(
                self._answer(), lambda: self._arrive_back(lambda: self._on_reset(Failure.DISCONNECTED))
            )
