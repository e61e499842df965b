"""One connection from a client or another node: reads requests, and sends their responses in the order of the requests.

A connection handles what it has received in its turns (`raft.runtime.turns`). If it sends more than a little while
anything waits for them, it is not read. The handling of a request begins before the requests ahead of it have
responses, so that their appends can share a flush. What a connection may hold is bounded: the number of requests
without a response, the bytes of all appends (`RequestBudget`), the received part of large frames (`LargeFrames`), and
unread responses (`ResponseBudget`). At a bound no request begins.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import cast

from raft.codec import Message
from raft.errors import AuthenticationError, DecodeError, LocalProtocolError
from raft.node.entrance import Entrance
from raft.node.gate import Gate
from raft.node.incoming_requests import IncomingRequests
from raft.node.read_buffer import SMALL_BYTES, ReadBufferProtocol
from raft.node.request_frames import MAX_REQUEST_BYTES, is_fetch
from raft.node.response_queue import ResponseQueue
from raft.node.service import Service
from raft.node.slot import Slot
from raft.node.throttle import Throttle
from raft.runtime.caller import address_of
from raft.runtime.drop_cause import DropCause
from raft.runtime.pace import Pace
from raft.runtime.turns import Standing
from raft.wire.apis import API_VERSIONS
from raft.wire.frames import ReceivedRequest, UnsupportedRequest, decode_request, response_pieces
from raft.wire.headers import RequestHeader

_logger = logging.getLogger(__name__)

MAX_UNDER_WAY = 100
"""How many requests of one connection may be without a response."""

STALLED_S = 30.0
"""A connection that neither completes a frame nor reads its responses for so long is dropped."""

SILENT_S = 10.0
"""A connection that sends no complete request for so long after it was opened is dropped."""

_WRITE_BUFFER_BYTES = 1 << 16
"""All responses that a client was sent count in the `ResponseBudget` while it has more than this to read."""


class InboundConnection(ReadBufferProtocol):
    """Reads requests from one connection, after it has passed `gate`, and writes their responses.

    Args:
        service: what the connection shares with the others.

    Attributes:
        caller: the other side.
        standing: see `Client.standing`.
        owner: see `Client.owner`. Unknown clients that have begun do not share with those that replay a first request.
        is_closing: whether the connection is closed or being closed.
        is_established: whether a complete request was received from it, and its name is proved if it has to be.
        drop_cause: why the node has dropped it, if it has.
        number: see `Client.number`.
        last_progress_s: when the last request was received, the last response was sent, or the other side last resumed
            reading.
    """

    def __init__(self, service: Service, gate: Gate) -> None:
        super().__init__(service.read_buffer)
        self._service = service
        self._entrance = Entrance(gate)
        self.caller = self._entrance.caller
        self._requests = IncomingRequests(self._entrance, service.large_frames, service.max_frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._throttle = Throttle(service.quotas, self.caller, service.turns, self._loop.call_later)
        self._has_begun = False
        self._transport: asyncio.Transport | None = None
        self._waits_for_budget = False
        self._queue = ResponseQueue(service.responses)
        self._is_reading = True
        self._is_flush_due = self._is_write_paused = self.is_closing = self._is_behind = False
        self._drop_reason: str | None = None
        self.drop_cause = DropCause.INVALID_REQUEST
        self.is_established = False
        self.standing = Standing.UNKNOWN if gate.is_secured else Standing.KNOWN
        self.owner: Hashable = self.caller
        self.number = service.turns.new_number()
        self._opened_s = self.last_progress_s = self._loop.time()

    @property
    def is_peer(self) -> bool:
        """Whether the node has accepted a request in the name of a voter from it."""
        return self.standing is Standing.VOTER

    @property
    def is_busy(self) -> bool:
        """Whether a request is without a response."""
        return bool(self._queue)

    @property
    def pace(self) -> Pace | None:
        """See `Client.pace`."""
        return self._throttle.pace

    @property
    def has_work(self) -> bool:
        """See `Client.has_work`."""
        frame = self._requests.next
        if frame is None:
            if not self._requests:
                return False
        elif self._waits_for_budget or (is_fetch(frame) and self._queue):
            return False
        is_held_up = self.is_closing or self._is_write_paused or self._throttle.is_muted
        return not is_held_up and len(self._queue) < MAX_UNDER_WAY

    def work(self, is_over: Callable[[], bool]) -> int:
        """See `Client.work`. Invalid data closes the connection, and so does an error that is not expected."""
        begun = 0
        if not self._has_begun:
            self._has_begun = True
            self._note_owner()
        try:
            while self.has_work:
                if self._requests.next is None:
                    if self._requests.look(self):
                        self.last_progress_s = self._loop.time()
                        continue
                elif self._may_begin():
                    begun += 1
                    self._begin()
                if not self._requests or is_over():
                    break
            if not self._requests:
                self._requests.check_the_rest(self)
                if self._entrance.is_ended and not self.is_closing:
                    self.close()  # As at the end of a connection without TLS: the other side waits for nothing else.
        except DecodeError as error:
            self.drop(f"{error}")
        except AuthenticationError as error:
            self._entrance.refuse()
            self.drop(f"{error}", DropCause.FAILED_AUTHENTICATION)
        except Exception as error:
            self.fail(error)
        self._pause_or_resume_reading()
        return begun

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        # The class is not checked, because the transports of uvloop do not derive from asyncio.Transport.
        tcp = cast("asyncio.Transport", transport)
        self._transport, self._entrance.write = tcp, tcp.write
        tcp.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self.caller.address = address_of(tcp.get_extra_info("peername"))
        self._note_owner()
        self._service.registry.opened(self)

    @property
    def large_rest_bytes(self) -> int:
        """See `ReadBufferProtocol.large_rest_bytes`."""
        rest_bytes = self._requests.missing_bytes
        return rest_bytes if rest_bytes > SMALL_BYTES and self._service.large_frames.has_room_for(self) else 0

    def data_received(self, data: bytes) -> None:
        """Handle the data, now or in turn. If that is much, or more comes before, nothing more is read until then."""
        self._is_behind = len(data) > SMALL_BYTES or bool(self._requests)
        self._requests.add(data, self)
        if self.standing is Standing.UNKNOWN and self._requests.waiting_bytes > MAX_REQUEST_BYTES:
            self.drop(f"sent more than {MAX_REQUEST_BYTES} bytes before it was known")
            return
        self._service.turns.ready(self)
        if self._requests:  # Otherwise its turn is over, which has done this.
            self._pause_or_resume_reading()

    def pause_writing(self) -> None:
        """Begin no more requests: the other side does not read its responses."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """Begin requests again: the other side has read its responses."""
        self._is_write_paused = False
        self.last_progress_s = self._loop.time()
        self._queue.release_unread()
        self._service.turns.ready(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Abandon the requests of the connection, and release what it holds."""
        if exc is not None:
            _logger.debug("connection from %s lost: %s", self.caller, exc)
        self.is_closing = True
        self._requests.clear()
        self._throttle.end()
        self._service.turns.forget(self)
        freed_bytes = self._queue.abandon()
        self._service.large_frames.forget(self)
        self._service.requests.release(freed_bytes)
        self._service.registry.closed(self, self._drop_reason)
        self._transport = None

    # Called by the node

    def respond(self, slot: Slot, response: Message | None) -> None:
        """Take the response to a request; it is sent after the responses to the requests before it."""
        if self.is_closing:
            if slot.permit is not None:
                self._service.responses.release(slot.permit)
            return
        self._service.turns.measure(self, lambda: self._encode(slot, response))

    def mark_as_peer(self) -> None:
        """Note that the node has accepted a request in the name of a voter from it."""
        self.standing = Standing.VOTER
        self._note_owner()

    def charge(self, used_s: float) -> None:
        """Count processor time that another thread has used for a request, in seconds."""
        self._service.turns.charge(self, used_s)

    def drop_if_idle(self, max_idle_s: float) -> None:
        """Drop the connection if it is not used, does not complete a frame, or does not read its responses.

        Args:
            max_idle_s: how long a connection may stay without requests, in seconds.
        """
        now_s = self._loop.time()
        idle_s = now_s - self.last_progress_s
        is_stalled = self._is_write_paused or (self._requests.has_partial_frame and self._is_reading)
        if is_stalled and idle_s > STALLED_S:
            self.drop(f"no progress within {STALLED_S:g} s", DropCause.SLOW)
        elif not self.is_established and now_s - self._opened_s > SILENT_S and self._is_reading:
            self.drop(f"no {self._entrance.awaited} within {SILENT_S:g} s", DropCause.IDLE)
        elif not self._queue and idle_s > max_idle_s:
            self.drop("idle", DropCause.IDLE)

    def drop_if_slow(self) -> None:
        """Drop the connection if it reads its responses too slowly. Called while other responses wait for memory."""
        if self._queue.is_slow(self._loop.time()):
            self.drop("reads its responses too slowly while others wait", DropCause.SLOW)

    def resume(self) -> None:
        """Go on, unless the connection has another reason to wait. See `Source.resume`, `Throttle`."""
        self._service.turns.ready(self)
        self._pause_or_resume_reading()

    def drop_as_slow(self) -> None:
        """Drop the connection: its frame is received too slowly while others wait. See `Source.drop_as_slow`."""
        self.drop("sends a large request too slowly while others wait", DropCause.SLOW)

    def close(self, reason: str | None = None, cause: DropCause = DropCause.INVALID_REQUEST) -> None:
        """Send the responses that can be sent, then close the connection.

        Args:
            reason: the reason to log; None logs nothing.
            cause: for the count of dropped connections, if there is a reason.
        """
        self._flush()
        self.is_closing = True
        if self._drop_reason is None:
            self._drop_reason, self.drop_cause = reason, cause
        if self._transport is not None:
            if last := self._entrance.end():
                self._transport.write(last)
            self._transport.close()

    def drop(self, reason: str | None = None, cause: DropCause = DropCause.INVALID_REQUEST) -> None:
        """Close the connection at once.

        Args:
            reason: the reason to log; None logs nothing.
            cause: for the count of dropped connections.
        """
        self.is_closing = True
        if self._drop_reason is None:
            self._drop_reason, self.drop_cause = reason, cause
        if self._transport is not None:
            self._transport.abort()

    def fail(self, error: Exception) -> None:
        """Close the connection at once, and log an unexpected error of the handling of a request with its traceback."""
        self._service.errors.report("cannot handle a request: %r", error, latest=f"address={self.caller}", error=error)
        self.drop(f"its request failed: {type(error).__name__}", DropCause.ERROR)

    # Internal

    def _note_owner(self) -> None:
        caller = self.caller
        is_unknown = self.standing is Standing.UNKNOWN
        self.owner = (caller.address, caller.listener.name, self._has_begun) if is_unknown else caller.owner

    def _may_begin(self) -> bool:
        """Return whether the budget of appends allows the next request. If not, the connection waits for it."""
        if not self._service.requests.is_exhausted or not self._requests.next_takes_budget:
            return True
        self._waits_for_budget = True
        self._service.requests.when_free(self._on_budget)
        return False

    def _on_budget(self) -> None:
        self._waits_for_budget = False
        self._service.turns.ready(self)

    def _pause_or_resume_reading(self) -> None:
        """Read from the socket only while nothing or a little waits: a pause costs more than a small request."""
        is_idle = not ((self._is_behind and self._requests) or self._throttle.is_muted or self.caller.is_refused)
        should_read = is_idle and self._service.large_frames.ask_to_read(self)
        if self._transport is None or self.is_closing or should_read == self._is_reading:
            return
        self._is_reading = should_read
        if should_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _begin(self) -> None:
        slot = Slot(self, 0)
        self._queue.append(slot)
        takes_budget, frame = self._requests.next_takes_budget, self._requests.take(self)
        if takes_budget:
            slot.size_bytes = len(frame)
            self._service.requests.take(slot.size_bytes)
        self._handle(decode_request(frame), slot)
        if self.caller.is_refused:
            self._requests.clear()
        elif self.caller.is_authenticated and not self.is_established:
            self.is_established = True
            if self.standing is Standing.UNKNOWN:
                self.standing = Standing.KNOWN
            self._note_owner()
            self._service.registry.established(self)

    def _handle(self, request: ReceivedRequest | UnsupportedRequest, slot: Slot) -> None:
        match request:
            case UnsupportedRequest():
                self._respond_unsupported(slot, request)
            case ReceivedRequest():
                slot.decoded(request)
                self._throttle.begin(request.header)
                self._service.handle(slot)

    def _respond_unsupported(self, slot: Slot, request: UnsupportedRequest) -> None:
        if request.api_key == API_VERSIONS.key:
            if self.caller.sasl is not None and not self.caller.is_authenticated:
                self.caller.sasl.count_request()
            slot.pieces = response_pieces(self._service.unsupported(), 0, correlation_id=request.correlation_id)
            self._fill(slot)
        else:
            self.drop(
                f"unsupported request: api_key={request.api_key} version={request.version}",
                DropCause.UNSUPPORTED_REQUEST,
            )

    def _encode(self, slot: Slot, response: Message | None) -> None:
        header = slot.header
        if header is not None:
            try:
                slot.pieces = self._pieces(slot, header, response)
            except LocalProtocolError as error:
                self.fail(error)
                return
        self._fill(slot)

    def _pieces(self, slot: Slot, header: RequestHeader, response: Message | None) -> list[bytes]:
        """Encode a response. If the client has used more than its quota, it says so, and the connection is muted."""
        pieces = [] if response is None else slot.encoded(response)
        if self.is_peer or not self._throttle.has_quotas:
            return pieces
        throttled = self._throttle.respond(
            header, response, self.resume, request_bytes=slot.size_bytes, response_bytes=sum(map(len, pieces))
        )
        return pieces if throttled is None else slot.encoded(throttled)

    def _fill(self, slot: Slot) -> None:
        """Send the responses that have no other before them; those of one turn of the event loop in one write."""
        freed_bytes = self._queue.fill(slot)
        if freed_bytes is None:
            return
        if not self._queue:
            self._flush()
        elif not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._service.turns.measure, self, self._flush)
        # This comes last, because it may begin a request of this connection, whose response must follow these.
        self._service.requests.release(freed_bytes)

    def _flush(self) -> None:
        self._is_flush_due = False
        unsent = self._queue.take_unsent()
        if self._transport is None or self.is_closing:
            return
        self.last_progress_s = self._loop.time()
        if unsent:
            self._transport.writelines(self._entrance.encrypt(unsent))
        if self._is_write_paused:
            self._queue.note_unread_since(self.last_progress_s)
        else:
            self._queue.release_unread()
        self._service.turns.ready(self)
