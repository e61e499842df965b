"""One request and its response, as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from raft.codec import Message as WireMessage
from raft.core.events import Failure
from raft.core.messages import OutgoingRequest
from raft.runtime.drop_cause import DropCause
from raft.runtime.response_budget import Permit
from raft.wire.frames import ReceivedRequest, encode_response
from tests.simulation.damaged_responses import damaged
from tests.simulation.message import Address, Message

if TYPE_CHECKING:
    from tests.simulation.accepted import AcceptedConnection
    from tests.simulation.post_office import PostOffice
    from tests.simulation.process import Process
    from tests.simulation.security.guard import Guard
    from tests.simulation.security.guarded_request import GuardedRequest
    from tests.simulation.security.identity import Identity

_SIZE_BYTES = 4


class RequestSource(Protocol):
    """A connection that handles its responses itself."""

    def respond(self, round_trip: RoundTrip, message: Message, frame: bytes) -> None:
        """Take the response to a request, as a message and as bytes."""
        ...

    def reset_by_receiver(self) -> None:
        """Handle that the node has closed the connection."""
        ...


class RoundTrip:
    """A request that was sent through the post office, and its outcome.

    Args:
        sender: the address of the sender.
        receiver: the address to which the sender sends.
        frame: the bytes of the request, without the size field.
        on_response: gets the bytes of the response, without the size field, at most once.
        on_failure: called at most once, if there will be no response.
        request: the request of a node; None for a client.
        process: the process of the sending node; None for a client.
        number: see `SendRequest.number`; of a node's request.

    Attributes:
        source: the connection that takes its response; None if the post office does.
        is_open: whether the sender has got neither a response nor a failure.
        waiting: the request at the receiver; None until it was delivered.
        connection: on which it was sent; None for a connection of this request alone, and once it was delivered there.
        is_bound: whether it fails with that connection, and is not sent on another one.
        identity: the user that sends it on another connection, if that is needed.
    """

    __slots__ = (
        "_on_failure",
        "_on_response",
        "connection",
        "frame",
        "identity",
        "is_bound",
        "is_open",
        "number",
        "process",
        "receiver",
        "request",
        "sender",
        "source",
        "waiting",
    )

    def __init__(
        self,
        sender: Address,
        receiver: Address,
        frame: bytes,
        *,
        on_response: Callable[[bytes], None],
        on_failure: Callable[[Failure], None],
        request: OutgoingRequest | None = None,
        process: Process | None = None,
        number: int = 0,
    ) -> None:
        self.sender = sender
        self.receiver = receiver
        self.frame = frame
        self.request = request
        self.process = process
        self.number = number
        self.source: RequestSource | None = None
        self.is_open = True
        self.waiting: PostedRequest | None = None
        self.connection: AcceptedConnection | None = None
        self.is_bound = False
        self.identity: Identity | None = None
        self._on_response = on_response
        self._on_failure = on_failure

    def copy(self) -> RoundTrip:
        """Return the same request on a connection that its sender has closed, so that it gets no response."""
        copy = RoundTrip(self.sender, self.receiver, self.frame, on_response=lambda _: None, on_failure=lambda _: None)
        copy.identity, copy.is_open = self.identity, False
        return copy

    @property
    def is_awaited(self) -> bool:
        """Whether the sender still runs and waits."""
        return self.is_open and not (self.process is not None and self.process.is_over)

    def end(self, response: bytes) -> None:
        """Pass the response to the sender."""
        if self.is_open:
            self.is_open = False
            self._on_response(response)

    def fail(self, failure: Failure) -> None:
        """Report to the sender that there will be no response."""
        if self.is_open:
            self.is_open = False
            self._on_failure(failure)


class PostedRequest:
    """A request at the node that handles it; see `raft.runtime.request.Request`.

    Attributes:
        process: the process of that node.
        caller, message, version, client_id: see `Request`.
    """

    def __init__(
        self,
        post_office: PostOffice,
        round_trip: RoundTrip,
        process: Process,
        received: ReceivedRequest,
        connection: AcceptedConnection,
    ) -> None:
        self.process = process
        self.caller = connection.caller
        self.message = received.message
        self.version = received.header.request_api_version
        self.client_id = received.header.client_id
        self._connection = connection
        self._guard: Guard | None = None
        self._guarded: GuardedRequest | None = None
        self._post_office = post_office
        self._round_trip = round_trip
        self._header = received.header
        self._forget: Callable[[], None] | None = None
        self._is_done = False
        self._is_gone = False

    def respond(self, response: WireMessage | None, permit: Permit | None = None) -> None:
        """See `Request.respond`."""
        assert not self._is_done, "a request gets one response"
        self._is_done = True
        self.message = WireMessage()  # A node forgets it, too.
        self._forget = None
        if permit is not None:
            self.process.context.responses.release(permit)
        if self._guard is not None and self._guarded is not None:
            self._connection.under_way.pop(self, None)
            if not self._is_gone:
                self._guard.responded(self._guarded, response)
        if response is not None and not self._is_gone:
            response = damaged(response, self._round_trip.request, self._post_office.network)
            version, correlation_id = self._header.request_api_version, self._header.correlation_id
            frame = encode_response(response, version, correlation_id=correlation_id)[_SIZE_BYTES:]
            throttled = self.process.throttled(self._connection, self._header, response, frame)
            if throttled is not None:
                frame = encode_response(throttled, version, correlation_id=correlation_id)[_SIZE_BYTES:]
            self._post_office.send_response(self._round_trip, self.process, frame, version)

    def when_gone(self, forget: Callable[[], None]) -> None:
        """See `Request.when_gone`."""
        if not self._is_gone:
            self._forget = forget

    def charge(self, used_s: float) -> None:
        """See `Request.charge`. What the simulator's threads take is time, and not processor time."""

    def mark_as_from_peer(self) -> None:
        """See `Request.mark_as_from_peer`."""
        self._connection.is_peer = True

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """See `Request.hang_up`."""
        if self._guard is not None and self._guarded is not None and not self._is_gone:
            self._guard.ended(self._guarded, cause)
        else:
            self._connection.end()
            self.connection_ended()

    def end(self, response: WireMessage | None, reason: str, cause: DropCause) -> None:
        """See `Request.end`. Only secured nodes get here."""
        if self._is_gone:
            return
        if response is not None:
            self.respond(response)
        self.hang_up(reason, cause)

    def fail(self, error: Exception) -> None:
        """See `Request.fail`. A node in production closes the connection and continues.

        Raises:
            BrokenInvariantError: always, because a handler has to cope with every fault of this world.
        """
        self.process.machine.failed(error)

    def respond_to(self, guard: Guard, guarded: GuardedRequest) -> PostedRequest:
        """Report the response, and the end of the connection, to the guard of a secured node."""
        self._guard, self._guarded = guard, guarded
        return self

    def connection_ended(self) -> None:
        """Handle the end of the connection by the node."""
        self.abandon()
        self._post_office.close_connection(self._round_trip, self.process)

    def abandon(self) -> None:
        """Handle the disconnect of the sender."""
        forget, self._forget = self._forget, None
        self._is_gone = True
        self._connection.is_abandoned = True
        if forget is not None:
            forget()
