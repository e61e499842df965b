"""One connection from a client or another node: reads requests, and sends their responses in the order of the requests.

The handling of a request begins before the requests ahead of it have responses, so that their appends can share a
flush. What a connection may hold is bounded: the number of requests without a response, the bytes of appends of all
connections together (`RequestBudget`), the received part of large frames (`LargeFrames`), and the responses that the
client has not read (`ResponseBudget`). At a bound the node stops reading from the socket.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import cast

from raft.codec import Message
from raft.errors import AuthenticationError, DecodeError, ErrorCode, LocalProtocolError
from raft.node.gate import Gate
from raft.node.large_frames import SMALL_FRAME_BYTES
from raft.node.request_frames import MAX_REQUEST_BYTES, check_size, is_append, is_fetch
from raft.node.response_queue import ResponseQueue
from raft.node.service import Service
from raft.node.slot import Slot
from raft.runtime.caller import address_of
from raft.runtime.drop_cause import DropCause
from raft.security.tls_channel import TlsChannel
from raft.wire.apis import API_VERSIONS
from raft.wire.frames import (
    FrameReader,
    ReceivedRequest,
    UnsupportedRequest,
    decode_request,
    response_pieces,
)

_logger = logging.getLogger(__name__)

MAX_UNDER_WAY = 100
"""How many requests of one connection may be without a response."""

STALLED_S = 30.0
"""A connection that neither completes a frame nor reads its responses for so long is dropped."""

SILENT_S = 10.0
"""A connection that sends no complete request for so long after it was opened is dropped."""

_WRITE_BUFFER_BYTES = 1 << 20


class InboundConnection(asyncio.Protocol):
    """Reads requests from one connection and writes their responses.

    Args:
        service: what the connection shares with the others.
        gate: what it has to pass.

    Attributes:
        caller: the other side.
        is_peer: whether the node has accepted a request in the name of a voter from it.
        is_established: whether a complete request was received from it, and its name is proved if it has to be.
        drop_cause: why the node has dropped it, if it has.
        last_progress_s: when the last request was received, the last response was sent, or the other side last resumed
            reading.
    """

    def __init__(self, service: Service, gate: Gate) -> None:
        self._service = service
        self._gate = gate
        self._channel = gate.new_channel()
        self._turns = service.turns if gate.is_secured else None
        self._frames = FrameReader(service.max_frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[bytes] = deque()
        self._waits_for_budget = False
        self._queue = ResponseQueue(service.responses)
        self._is_flush_due = False
        self._is_reading = True
        self._is_write_paused = False
        self._is_closed = False
        self._drop_reason: str | None = None
        self.drop_cause = DropCause.INVALID_REQUEST
        self.caller = gate.new_caller("")
        self.is_peer = False
        self.is_established = False
        self._opened_s = self.last_progress_s = self._loop.time()

    @property
    def is_busy(self) -> bool:
        """Whether a request is without a response."""
        return bool(self._queue)

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closed or being closed."""
        return self._is_closed

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        # The class is not checked, because the transports of uvloop do not derive from asyncio.Transport.
        tcp = cast("asyncio.Transport", transport)
        self._transport = tcp
        tcp.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self.caller = self._gate.new_caller(address_of(tcp.get_extra_info("peername")))
        self._service.registry.opened(self)

    def data_received(self, data: bytes) -> None:
        """Read requests, of a client that is not known only when its turn comes."""
        if self._turns is None or self.is_established:
            self.receive(data)
        else:
            self._turns.receive(self, data)

    def receive(self, data: bytes) -> None:
        """Read requests; invalid data closes the connection."""
        frames = self._frames
        try:
            if self._channel is not None:
                data = self._decrypt(self._channel, data)
            has_frame = False
            for frame in frames.receive(data):
                has_frame = True
                if len(frame) > MAX_REQUEST_BYTES:
                    self._receive_large(frame)
                self.last_progress_s = self._loop.time()
                self._waiting.append(frame)
            if frames.received_bytes > SMALL_FRAME_BYTES:
                self._service.large_frames.received(self, frames.received_bytes, is_complete=False)
            if frames.announced_bytes > MAX_REQUEST_BYTES:
                check_size(frames.begin, frames.announced_bytes, is_authenticated=self.caller.is_authenticated)
        except DecodeError as error:
            self.drop(f"{error}")
            return
        except AuthenticationError as error:
            self._end_handshake(error)
            return
        self._work()
        if has_frame and self.caller.is_authenticated:
            self.is_established = True
        if self._channel is not None and self._channel.is_ended and not self._is_closed:
            # As at the end of a connection without TLS: the other side waits for nothing but the end of this side.
            self.close()

    def pause_writing(self) -> None:
        """Begin no more requests: the other side does not read its responses."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """Begin requests again: the other side has read its responses."""
        self._is_write_paused = False
        self.last_progress_s = self._loop.time()
        self._queue.release_unread()
        self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """Abandon the requests of the connection, and release what it holds."""
        if exc is not None:
            _logger.debug("connection from %s lost: %s", self.caller, exc)
        self._is_closed = True
        self._waiting.clear()
        if self._turns is not None:
            self._turns.forget(self)
        freed_bytes = self._queue.abandon()
        self._service.large_frames.forget(self)
        self._service.requests.release(freed_bytes)
        self._service.registry.closed(self, self._drop_reason)
        self._transport = None

    # Called by the node

    def respond(self, slot: Slot, response: Message | None) -> None:
        """Take the response to a request; it is sent after the responses to the requests before it."""
        if self._is_closed:
            if slot.permit is not None:
                self._service.responses.release(slot.permit)
            return
        header = slot.header
        if response is not None and header is not None:
            try:
                slot.pieces = response_pieces(
                    response, header.request_api_version, correlation_id=header.correlation_id
                )
            except LocalProtocolError as error:
                _logger.error("cannot send %s to %s: %s", type(response).__name__, self.caller, error)
                self.drop(ErrorCode.UNKNOWN_SERVER_ERROR.name, DropCause.ERROR)
                return
        self._fill(slot)

    def drop_if_idle(self, max_idle_s: float) -> None:
        """Drop the connection if it is not used, does not complete a frame, or does not read its responses.

        Args:
            max_idle_s: how long a connection may stay without requests, in seconds.
        """
        now_s = self._loop.time()
        idle_s = now_s - self.last_progress_s
        is_stalled = self._is_write_paused or (self._frames.has_partial_frame and self._is_reading)
        if is_stalled and idle_s > STALLED_S:
            self.drop(f"no progress within {STALLED_S:g} s", DropCause.SLOW)
        elif not self.is_established and now_s - self._opened_s > SILENT_S and self._is_reading:
            self.drop(f"no {self._awaited} within {SILENT_S:g} s", DropCause.IDLE)
        elif not self._queue and idle_s > max_idle_s:
            self.drop("idle", DropCause.IDLE)

    def drop_if_slow(self) -> None:
        """Drop the connection if it reads its responses too slowly. Called while other responses wait for memory."""
        if self._queue.is_slow(self._loop.time()):
            self.drop("reads its responses too slowly while others wait", DropCause.SLOW)

    def resume(self) -> None:
        """Resume reading, unless the connection has another reason to wait. See `Source.resume`."""
        self._work()

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
        self._is_closed = True
        if self._drop_reason is None:
            self._drop_reason, self.drop_cause = reason, cause
        if self._transport is not None:
            if self._channel is not None:
                self._channel.end()
                self._transport.write(self._channel.data_to_send())
            self._transport.close()

    def drop(self, reason: str | None = None, cause: DropCause = DropCause.INVALID_REQUEST) -> None:
        """Close the connection at once.

        Args:
            reason: the reason to log; None logs nothing.
            cause: for the count of dropped connections.
        """
        self._is_closed = True
        if self._drop_reason is None:
            self._drop_reason, self.drop_cause = reason, cause
        if self._transport is not None:
            self._transport.abort()

    def fail(self, error: Exception) -> None:
        """Close the connection at once, and log an unexpected error of the handling of a request with its traceback."""
        _logger.error("cannot handle a request: address=%s", self.caller, exc_info=error)
        self.drop(f"its request failed: {type(error).__name__}", DropCause.ERROR)

    # Internal

    @property
    def _awaited(self) -> str:
        if self._channel is not None and not self._channel.is_open:
            return "TLS handshake"
        return "request" if self.caller.is_authenticated else "authentication"

    def _decrypt(self, channel: TlsChannel, data: bytes) -> bytes:
        was_open = channel.is_open
        try:
            plain = channel.receive(data)
        finally:
            encrypted = channel.data_to_send()  # After an error too: it tells the client what was wrong.
            if encrypted and self._transport is not None:
                self._transport.write(encrypted)
        if channel.is_open and not was_open:
            self._gate.admit(self.caller, channel)
        return plain

    def _end_handshake(self, error: AuthenticationError) -> None:
        self._gate.refuse(self.caller)
        self.drop(f"{error}", DropCause.FAILED_AUTHENTICATION)

    def _receive_large(self, frame: bytes) -> None:
        check_size(frame, len(frame), is_authenticated=self.caller.is_authenticated)
        if len(frame) > SMALL_FRAME_BYTES:
            self._service.large_frames.received(self, len(frame), is_complete=True)

    def _work(self) -> None:
        """Begin the requests that wait, as far as the bounds allow, and read more when none waits."""
        waiting, queue = self._waiting, self._queue
        while waiting and not self._is_closed:
            if self.caller.is_refused:
                waiting.clear()
                break
            if self._is_write_paused or len(queue) >= MAX_UNDER_WAY:
                break
            frame = waiting[0]
            if queue and is_fetch(frame):
                break
            if self._takes_budget(frame) and self._service.requests.is_exhausted:
                self._wait_for_budget()
                break
            waiting.popleft()
            self._begin(frame)
        self._pause_or_resume_reading()

    def _takes_budget(self, frame: bytes) -> bool:
        """Return whether a frame counts against the budget of appends, of which unknown clients take nothing."""
        return is_append(frame) and self.caller.is_authenticated

    def _wait_for_budget(self) -> None:
        if not self._waits_for_budget:
            self._waits_for_budget = True
            self._service.requests.when_free(self._on_budget)

    def _on_budget(self) -> None:
        self._waits_for_budget = False
        self._work()

    def _pause_or_resume_reading(self) -> None:
        """Read from the socket only while no request waits: TCP then holds back the other side."""
        is_idle = not self._waiting and not self.caller.is_refused
        should_read = is_idle and self._service.large_frames.ask_to_read(self)
        if self._transport is None or self._is_closed or should_read == self._is_reading:
            return
        self._is_reading = should_read
        if should_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _begin(self, frame: bytes) -> None:
        slot = Slot(self, 0)
        self._queue.append(slot)
        if self._takes_budget(frame):
            slot.size_bytes = len(frame)
            self._service.requests.take(slot.size_bytes)
        if len(frame) > SMALL_FRAME_BYTES:
            self._service.large_frames.forget(self)
        try:
            self._handle(decode_request(frame), slot)
        except DecodeError as error:
            self.drop(f"{error}")
        except AuthenticationError as error:
            self._end_handshake(error)
        except Exception as error:
            # If it were raised, the other connections that wait for the budget would not be resumed.
            self.fail(error)

    def _handle(self, request: ReceivedRequest | UnsupportedRequest, slot: Slot) -> None:
        match request:
            case UnsupportedRequest():
                self._respond_unsupported(slot, request)
            case ReceivedRequest():
                slot.header = request.header
                self._service.handle(self.caller, request, slot)

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

    def _fill(self, slot: Slot) -> None:
        """Send the responses that have no other before them; those of one turn of the event loop in one write."""
        freed_bytes = self._queue.fill(slot)
        if freed_bytes is None:
            return
        if not self._queue:
            self._flush()
        elif not self._is_flush_due:
            # More responses may follow in this turn of the event loop.
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        # This comes last, because it may begin a request of this connection, whose response must follow these.
        self._service.requests.release(freed_bytes)

    def _flush(self) -> None:
        self._is_flush_due = False
        unsent = self._queue.take_unsent()
        if self._transport is None or self._is_closed:
            return
        self.last_progress_s = self._loop.time()
        if unsent and self._channel is None:
            self._transport.writelines(unsent)
        elif unsent and self._channel is not None:
            self._channel.send_pieces(unsent)
            self._transport.write(self._channel.data_to_send())
        if self._is_write_paused:
            self._queue.note_unread_since(self.last_progress_s)
        else:
            self._queue.release_unread()
        if self._waiting:
            # Called later, because a request with an immediate response would call _flush again: the calls would nest
            # as deep as there are requests.
            self._loop.call_soon(self._work)
