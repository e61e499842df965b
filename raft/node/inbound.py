"""One connection from a client or another node: frames in, requests to their handlers, answers out in order.

Requests that come one behind the other are begun at once, so that appends can share a flush; their answers leave in
the order in which they came, as the protocol demands. What a connection may hold is bounded: the requests under way,
the bytes of appends of all connections together (`RequestBudget`), what has come of large frames (`LargeFrames`), the
answers that the other side does not read (`ResponseBudget`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from raft.codec import Message
from raft.errors import DecodeError, ErrorCode, LocalProtocolError
from raft.node.incoming import SMALL_FRAME_BYTES, LargeFrames
from raft.node.request_budget import RequestBudget
from raft.node.slot import Slot
from raft.runtime.caller import Caller, address_of
from raft.runtime.respond import Respond
from raft.runtime.response_budget import Permit, ResponseBudget
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

MAX_REQUEST_BYTES = 1 << 16
"""Largest request but Produce that is read: a node hosts one partition, so no client needs more."""

STALLED_S = 30.0
"""A connection that neither ends a frame nor reads its answers for so long is dropped."""

SILENT_S = 10.0
"""A connection that has never sent a whole request for so long is dropped."""

_SLOWEST_READER_BYTES_PER_S = 1 << 20
_WRITE_BUFFER_BYTES = 1 << 20

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


class Registry(Protocol):
    """Those connections of a node that are open."""

    def opened(self, connection: InboundConnection) -> None:
        """A connection was made; it may be dropped at once, or another in its favour."""
        ...

    def closed(self, connection: InboundConnection, reason: str | None) -> None:
        """A connection has ended; `reason` says why the node dropped it, None if it did not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What all connections of a node share.

    Fields:
        max_frame_bytes: largest request that is read.
        requests, large_frames, answers: what may wait in the node at once.
        handle: begins a request; calls back with its answer.
        unsupported: the answer to an ApiVersions request of a version we do not know, in version 0.
        registry: knows the open connections.
    """

    max_frame_bytes: int
    requests: RequestBudget
    large_frames: LargeFrames
    responses: ResponseBudget
    handle: Callable[[Caller, ReceivedRequest, Respond], None]
    unsupported: Callable[[], Message]
    registry: Registry


class InboundConnection(asyncio.Protocol):
    """Reads requests from one connection and writes their answers.

    Args:
        service: what it shares with the others.
        caller_at: who the other end is, from its address.

    Attributes:
        is_peer: whether a request in a voter's name has been taken from it.
        has_spoken: whether a whole request has come.
        last_progress_s: when a request came, an answer left, or the other side went on reading.
    """

    def __init__(self, service: Service, caller_at: Callable[[str], Caller]) -> None:
        self._service = service
        self._caller_at = caller_at
        self._frames = FrameReader(service.max_frame_bytes)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unread: deque[bytes] = deque()
        self._waits_for_budget = False
        self._slots: deque[Slot] = deque()
        self._unsent: list[bytes] = []
        self._is_flush_due = False
        self._held: list[Permit] = []
        self._held_since_s = 0.0
        self._is_reading = True
        self._is_write_paused = False
        self._is_closed = False
        self._drop_reason: str | None = None
        self.caller = caller_at("")
        self.is_peer = False
        self.has_spoken = False
        self.last_progress_s = self._loop.time()
        self.opened_s = self.last_progress_s

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return bool(self._slots)

    @property
    def is_closing(self) -> bool:
        """Whether it has ended, or is about to."""
        return self._is_closed

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # No check of the class: uvloop's transports are of another family.
        tcp = cast("asyncio.Transport", transport)
        self._transport = tcp
        tcp.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self.caller = self._caller_at(address_of(tcp.get_extra_info("peername")))
        self._service.registry.opened(self)

    def data_received(self, data: bytes) -> None:
        """Take in requests; bytes that are none end the connection."""
        frames = self._frames
        try:
            for frame in frames.receive(data):
                if len(frame) > MAX_REQUEST_BYTES:
                    self._take_large(frame)
                self.last_progress_s = self._loop.time()
                self._unread.append(frame)
                self.has_spoken = True
            if frames.came_bytes > SMALL_FRAME_BYTES:
                self._service.large_frames.came(self, frames.came_bytes, is_complete=False)
            if frames.announced_bytes > MAX_REQUEST_BYTES:
                _check_size(frames.begin, frames.announced_bytes)
        except DecodeError as error:
            self.drop(f"{error}")
            return
        self._work()

    def pause_writing(self) -> None:
        """The other side does not read its answers: take no more requests of it."""
        self._is_write_paused = True

    def resume_writing(self) -> None:
        """It reads again."""
        self._is_write_paused = False
        self.last_progress_s = self._loop.time()
        self._release_held()
        self._work()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything of it."""
        if exc is not None:
            _logger.debug("connection from %s lost: %s", self.caller, exc)
        self._is_closed = True
        slots, self._slots = self._slots, deque()
        freed_bytes = 0
        for slot in slots:
            freed_bytes += slot.size_bytes
            if slot.permit is not None:
                self._held.append(slot.permit)
            slot.abandon()
        self._unread.clear()
        self._release_held()
        self._service.large_frames.forget(self)
        self._service.requests.give_back(freed_bytes)
        self._service.registry.closed(self, self._drop_reason)
        self._transport = None

    # What the node calls

    def answer(self, slot: Slot, response: Message | None) -> None:
        """Take the answer to a request; it leaves when those before it have."""
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
                _logger.error("%s to %s: %s", type(response).__name__, self.caller, error)
                self.drop(ErrorCode.UNKNOWN_SERVER_ERROR.name)
                return
        self._fill(slot)

    def drop_if_idle(self, max_idle_s: float) -> None:
        """End a connection that is not used, or that is abused: half a frame, or answers that are not read."""
        now_s = self._loop.time()
        idle_s = now_s - self.last_progress_s
        is_stalled = self._is_write_paused or (self._frames.has_partial_frame and self._is_reading)
        if is_stalled and idle_s > STALLED_S:
            self.drop("the other side stalls")
        elif not self.has_spoken and idle_s > SILENT_S and self._is_reading:
            self.drop("no request came")
        elif not self._slots and idle_s > max_idle_s:
            self.drop("idle")

    def drop_if_slow(self) -> None:
        """End a connection that does not read its answers, for which other answers have to wait."""
        if self._held:
            held_bytes = sum(permit.size_bytes for permit in self._held)
            if self._loop.time() - self._held_since_s > 1 + held_bytes / _SLOWEST_READER_BYTES_PER_S:
                self.drop("its answers are not read, and others wait")

    def resume(self) -> None:
        """Read on, if nothing but other connections' large frames kept it from that."""
        self._work()

    def drop_as_slow(self) -> None:
        """Its frame comes too slowly, and others wait."""
        self.drop("a large request comes too slowly, and others wait")

    def close(self) -> None:
        """Send what is answered, then close."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def drop(self, reason: str | None = None) -> None:
        """Close at once."""
        self._is_closed = True
        self._drop_reason = self._drop_reason or reason
        if self._transport is not None:
            self._transport.abort()

    # The rest is ours

    def _take_large(self, frame: bytes) -> None:
        _check_size(frame, len(frame))
        if len(frame) > SMALL_FRAME_BYTES:
            self._service.large_frames.came(self, len(frame), is_complete=True)

    def _work(self) -> None:
        """Begin the requests that wait, as long as there is room for them and their answers."""
        unread, slots = self._unread, self._slots
        while unread and not self._is_closed:
            if self._is_write_paused or len(slots) >= MAX_UNDER_WAY:
                break
            frame = unread[0]
            if slots and is_fetch(frame):
                break
            if is_append(frame) and self._service.requests.is_exhausted:
                self._wait_for_budget()
                break
            unread.popleft()
            self._begin(frame)
        self._read_or_not()

    def _wait_for_budget(self) -> None:
        if not self._waits_for_budget:
            self._waits_for_budget = True
            self._service.requests.when_free(self._on_budget)

    def _on_budget(self) -> None:
        self._waits_for_budget = False
        self._work()

    def _read_or_not(self) -> None:
        """Read from the socket only while nothing waits: the other side's kernel holds the rest."""
        should_read = not self._unread and self._service.large_frames.may_read(self)
        if self._transport is None or self._is_closed or should_read == self._is_reading:
            return
        self._is_reading = should_read
        if should_read:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _begin(self, frame: bytes) -> None:
        slot = Slot(self, 0)
        self._slots.append(slot)
        if is_append(frame):
            slot.size_bytes = len(frame)
            self._service.requests.take(slot.size_bytes)
        if len(frame) > SMALL_FRAME_BYTES:
            self._service.large_frames.forget(self)
        try:
            request = decode_request(frame)
        except DecodeError as error:
            self.drop(f"{error}")
            return
        match request:
            case UnsupportedRequest():
                self._respond_unsupported(slot, request)
            case ReceivedRequest():
                slot.header = request.header
                self._service.handle(self.caller, request, slot)

    def _respond_unsupported(self, slot: Slot, request: UnsupportedRequest) -> None:
        if request.api_key == API_VERSIONS.key:
            slot.pieces = response_pieces(self._service.unsupported(), 0, correlation_id=request.correlation_id)
            self._fill(slot)
        else:
            self.drop(f"API {request.api_key} version {request.version} is not served")

    def _fill(self, slot: Slot) -> None:
        """Mark a request as answered; what leaves in one turn of the loop leaves in one write."""
        slot.is_filled = True
        slots = self._slots
        if slots[0] is not slot:
            return
        freed_bytes = 0
        while slots and slots[0].is_filled:
            done = slots.popleft()
            self._unsent += done.pieces
            freed_bytes += done.size_bytes
            if done.permit is not None:
                self._held.append(done.permit)
        if not slots:
            self._flush()
        elif not self._is_flush_due:
            # More answers may come in this turn of the loop, and leave together.
            self._is_flush_due = True
            self._loop.call_soon(self._flush)
        # Last of all: it may begin a request of this very connection, whose answer comes after these.
        self._service.requests.give_back(freed_bytes)

    def _flush(self) -> None:
        self._is_flush_due = False
        unsent, self._unsent = self._unsent, []
        if self._transport is None or self._is_closed:
            return
        self.last_progress_s = self._loop.time()
        if unsent:
            self._transport.writelines(unsent)
        if self._is_write_paused:
            self._held_since_s = self.last_progress_s
        else:
            self._release_held()
        if self._unread:
            # Later, because a request that is answered at once would come back here, as often as there are requests.
            self._loop.call_soon(self._work)

    def _release_held(self) -> None:
        held, self._held = self._held, []
        for permit in held:
            self._service.responses.release(permit)


def _check_size(begin: bytes, size_bytes: int) -> None:
    """Refuse a large frame that is no append, as soon as that can be seen.

    Raises:
        DecodeError: it is none.
    """
    if len(begin) >= len(_PRODUCE_KEY) and not is_append(begin):
        raise DecodeError(f"a request of {size_bytes} bytes that is no Produce; up to {MAX_REQUEST_BYTES} are read")
