"""One connection from a client or another node: frames in, requests to their handlers, answers out in order.

Requests that come one behind the other are begun at once, so that appends can share a flush; their answers leave in
the order in which they came, as the protocol demands. What a connection may hold is bounded: the requests under way,
the bytes of all connections together (`RequestBudget`, also of large frames that have only begun to come in), the
answers that the other side does not read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

from raft.codec import Message
from raft.errors import DecodeError, ErrorCode, LocalProtocolError
from raft.node.budget import RequestBudget
from raft.node.respond import Respond
from raft.wire.apis import API_VERSIONS, FETCH, PRODUCE
from raft.wire.frames import (
    FrameReader,
    ReceivedRequest,
    UnsupportedRequest,
    decode_request,
    response_pieces,
)

_logger = logging.getLogger(__name__)

MAX_UNDER_WAY = 100
"""Requests of one connection that may wait for their answers."""

STALLED_S = 30.0
"""A connection that neither ends a frame nor reads its answers for so long is dropped."""

_WRITE_BUFFER_BYTES = 1 << 20
_SMALL_FRAME_BYTES = 1 << 18
"""What one read from a socket may bring anyway: a frame up to this size needs no leave to come in."""

_PRODUCE_KEY = PRODUCE.key.to_bytes(2, "big")
_FETCH_KEY = FETCH.key.to_bytes(2, "big")


def is_append(frame: bytes) -> bool:
    """Whether a frame is a Produce request.

    Only these count against the budget of bytes. The requests of other nodes must never wait behind them: it is the
    followers' fetches that let an append be answered at all.
    """
    return frame[:2] == _PRODUCE_KEY


def is_fetch(frame: bytes) -> bool:
    """Whether a frame is a Fetch request: one at a time is begun on a connection, as each may read a lot."""
    return frame[:2] == _FETCH_KEY


class _Unread(NamedTuple):
    """A frame that waits to be begun, and what it has taken of the budget already."""

    frame: bytes
    reserved_bytes: int


class _Slot:
    """The place in the queue of answers that belongs to one request; `size_bytes` is what it takes of the budget."""

    __slots__ = ("is_filled", "pieces", "respond", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.pieces: list[bytes] = []
        self.is_filled = False
        self.respond: Respond | None = None


class InboundConnection(asyncio.Protocol):
    """Reads requests from one connection and writes their answers.

    Args:
        max_frame_bytes: largest request that is read.
        budget: of all connections together.
        handle: begins a request; calls back with its answer.
        unsupported: the answer to an ApiVersions request of a version we do not know, in version 0.
        opened, closed: told of the connection's life.
    """

    def __init__(
        self,
        *,
        max_frame_bytes: int,
        budget: RequestBudget,
        handle: Callable[[ReceivedRequest, Respond], None],
        unsupported: Callable[[], Message],
        opened: Callable[[InboundConnection], None],
        closed: Callable[[InboundConnection], None],
    ) -> None:
        self._frames = FrameReader(max_frame_bytes)
        self._budget = budget
        self._handle = handle
        self._unsupported = unsupported
        self._opened = opened
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unread: deque[_Unread] = deque()
        self._reserved_bytes = 0
        self._waits_for_leave = False
        self._slots: deque[_Slot] = deque()
        self._is_reading = True
        self._is_write_paused = False
        self._is_closed = False
        self._last_progress_s = self._loop.time()
        self._peer = "nobody"

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # No check of the class: uvloop's transports are of another family.
        tcp = cast("asyncio.Transport", transport)
        self._transport = tcp
        tcp.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self._peer = str(tcp.get_extra_info("peername"))
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        """Take in requests; bytes that are none end the connection."""
        try:
            for frame in self._frames.receive(data):
                self._last_progress_s = self._loop.time()
                self._unread.append(_Unread(frame, self._reserved_bytes))
                self._reserved_bytes = 0
        except DecodeError as error:
            self._drop(f"{error}")
            return
        self._work()

    def pause_writing(self) -> None:
        """The other side does not read its answers: take no more requests of it."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """It reads again."""
        self._is_write_paused = False
        self._last_progress_s = self._loop.time()
        self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything of it."""
        if exc is not None:
            _logger.debug("connection from %s lost: %s", self._peer, exc)
        self._is_closed = True
        held_bytes = self._reserved_bytes + sum(unread.reserved_bytes for unread in self._unread)
        slots, self._slots = self._slots, deque()
        for slot in slots:
            held_bytes += slot.size_bytes
            if slot.respond is not None:
                slot.respond.abandon()
        self._unread.clear()
        self._budget.give_back(held_bytes)
        self._closed(self)

    # What the listener calls

    def drop_if_idle(self, max_idle_s: float) -> None:
        """End a connection that nobody uses, or that somebody abuses: half a frame, or answers that are not read."""
        idle_s = self._loop.time() - self._last_progress_s
        is_stalled = self._is_write_paused or (self._frames.has_partial_frame and self._is_reading)
        if is_stalled and idle_s > STALLED_S:
            self._drop("the other side stalls")
        elif not self._slots and idle_s > max_idle_s:
            self._drop("idle")

    def close(self) -> None:
        """Send what is answered, then close."""
        if self._transport is not None:
            self._transport.close()

    def drop(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    # The rest is ours

    def _work(self) -> None:
        """Begin the requests that wait, as long as there is room for them and their answers."""
        while self._unread and not self._is_closed:
            if self._is_write_paused or len(self._slots) >= MAX_UNDER_WAY:
                break
            frame, reserved_bytes = self._unread[0]
            if is_fetch(frame) and self._slots:
                break
            if is_append(frame) and not reserved_bytes and self._budget.is_exhausted:
                self._wait_for_leave()
                break
            self._unread.popleft()
            self._begin(frame, reserved_bytes)
        self._ask_leave_for_large_frame()
        self._read_or_not()

    def _ask_leave_for_large_frame(self) -> None:
        """Take a large frame's size from the budget before most of it comes in, and wait for that if need be.

        Not while frames before it wait to be begun: nothing is read meanwhile, so it could not come in, and what it had
        taken could be the very bytes that they wait for.
        """
        coming_bytes = self._frames.coming_bytes
        if coming_bytes <= _SMALL_FRAME_BYTES or self._reserved_bytes or self._unread or self._is_closed:
            return
        if self._budget.is_exhausted:
            self._wait_for_leave()
            return
        self._budget.take(coming_bytes)
        self._reserved_bytes = coming_bytes
        self._last_progress_s = self._loop.time()

    def _wait_for_leave(self) -> None:
        if not self._waits_for_leave:
            self._waits_for_leave = True
            self._budget.when_free(self._on_leave)

    def _on_leave(self) -> None:
        self._waits_for_leave = False
        self._work()

    def _read_or_not(self) -> None:
        """Read from the socket only while nothing waits: the other side's kernel holds the rest."""
        should_read = not self._unread and not self._waits_for_leave
        if self._transport is None or self._is_closed or should_read == self._is_reading:
            return
        self._is_reading = should_read
        if should_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _begin(self, frame: bytes, reserved_bytes: int) -> None:
        slot = _Slot(reserved_bytes)
        self._slots.append(slot)
        if is_append(frame) and not reserved_bytes:
            slot.size_bytes = len(frame)
            self._budget.take(slot.size_bytes)
        try:
            request = decode_request(frame)
        except DecodeError as error:
            self._drop(f"{error}")
            return
        match request:
            case UnsupportedRequest():
                self._answer_unsupported(slot, request)
            case ReceivedRequest():
                slot.respond = Respond(lambda response: self._answer(slot, request, response), origin=self)
                self._handle(request, slot.respond)

    def _answer_unsupported(self, slot: _Slot, request: UnsupportedRequest) -> None:
        if request.api_key == API_VERSIONS.key:
            self._fill(slot, response_pieces(self._unsupported(), 0, correlation_id=request.correlation_id))
        else:
            self._drop(f"API {request.api_key} version {request.version} is not served")

    def _answer(self, slot: _Slot, request: ReceivedRequest, response: Message | None) -> None:
        if self._is_closed:
            return
        pieces: list[bytes] = []
        if response is not None:
            header = request.header
            try:
                pieces = response_pieces(response, header.request_api_version, correlation_id=header.correlation_id)
            except LocalProtocolError as error:
                _logger.error("%s to %s: %s", request.api.name, self._peer, error)
                self._drop(ErrorCode.UNKNOWN_SERVER_ERROR.name)
                return
        self._fill(slot, pieces)

    def _fill(self, slot: _Slot, pieces: list[bytes]) -> None:
        slot.pieces = pieces
        slot.is_filled = True
        answers: list[bytes] = []
        freed_bytes = 0
        while self._slots and self._slots[0].is_filled:
            done = self._slots.popleft()
            answers += done.pieces
            freed_bytes += done.size_bytes
        if self._transport is not None:
            self._last_progress_s = self._loop.time()
            self._transport.writelines(answers)
            if self._unread:
                self._loop.call_soon(self._work)
        # Last of all: it may begin a request of this very connection, whose answer comes after these.
        self._budget.give_back(freed_bytes)

    def _drop(self, reason: str) -> None:
        if not self._is_closed:
            _logger.info("connection from %s is closed: %s", self._peer, reason)
            self._is_closed = True
            self.drop()
