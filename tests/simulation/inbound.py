"""What a process has received on one connection, and handles in its turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

from raft.codec import Message
from raft.node.throttle import Throttle
from raft.runtime.pace import Pace
from raft.runtime.turns import Standing
from raft.wire.headers import RequestHeader
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.marks import Mark
from tests.simulation.timeline import Action

if TYPE_CHECKING:
    from tests.simulation.process import Process


_FEW = 10
"""So many requests can wait while more is read, if they came together; the product counts bytes."""


class Received(NamedTuple):
    """A request that was received.

    Fields:
        begin: passes it to its handler.
        is_fetch: whether it has to wait until the requests before it have responses; only between nodes.
    """

    begin: Action
    is_fetch: bool = False


class Wait(NamedTuple):
    """How long a request has waited for the turn of its connection.

    Fields:
        standing: what the node knew of the other side.
        work_ms: the processor time that the node has used for others meanwhile.
        should_begin_at_once: whether it is of a voter, and voters had not used the time of a round when it was read.
        clients_ms: the processor time that the node has used for clients since it was read.
        owners: how many times an owner had requests that waited meanwhile.
        is_alone: whether no other connection of its owner had one.
    """

    standing: Standing
    work_ms: float
    should_begin_at_once: bool
    clients_ms: float
    owners: int
    is_alone: bool


class Turn(NamedTuple):
    """A turn of a connection, which has ended.

    Fields:
        inbound: the connection.
        standing: what the node knew of the other side before it.
        is_limited: whether its client was known to have a quota of processor time before it.
        used_us: the processor time of its requests, in microseconds.
    """

    inbound: Inbound
    standing: Standing
    is_limited: bool
    used_us: int


class Inbound:
    """A connection with the turns of a node, which is not read while requests wait; see `raft.node.inbound`.

    Args:
        accepted: the connection.
        process: the process that has accepted it.
        may_begin: whether a request may begin now; asked for the first one that waits.

    Attributes:
        number: see `Client.number`.
        is_closing: whether the connection has ended.
        throttle: what quotas make of it.
    """

    def __init__(
        self, accepted: AcceptedConnection, process: Process, may_begin: Callable[[Received], bool] = lambda _: True
    ) -> None:
        self.number = process.turns.new_number()
        self.is_closing = False
        self._accepted = accepted
        self._process = process
        self._may_begin = may_begin
        self.throttle = Throttle(process.quotas, accepted.caller, process.turns, process.call_later)
        self._unread: list[Received] = []
        self._received: deque[Received] = deque()
        self._is_reading = True
        self._is_behind = False
        self._has_begun = self._is_blocked = False
        self._waits_since_ms = 0.0
        self._owners_before = 0
        self._clients_ms_before = 0.0
        self._should_begin_at_once = False
        self._waiting_owner: Hashable = None
        self._was_alone = True
        self._waits_as_voter = False

    @property
    def standing(self) -> Standing:
        """See `Client.standing`."""
        accepted = self._accepted
        if accepted.is_peer:
            return Standing.VOTER
        return Standing.KNOWN if accepted.is_established or accepted.caller.sasl is None else Standing.UNKNOWN

    @property
    def pace(self) -> Pace | None:
        """See `Client.pace`."""
        return self.throttle.pace

    @property
    def owner(self) -> Hashable:
        """See `Client.owner`."""
        caller = self._accepted.caller
        is_unknown = self.standing is Standing.UNKNOWN
        return (caller.address, caller.listener.name, self._has_begun) if is_unknown else caller.owner

    @property
    def has_requests(self) -> bool:
        """Whether a request of it has not begun."""
        return bool(self._received or self._unread)

    @property
    def is_needed(self) -> bool:
        """Whether more is known of it than that there is a connection."""
        return self.has_requests or self.throttle.is_muted

    @property
    def has_work(self) -> bool:
        """See `Client.has_work`."""
        if self.is_closing or not self._received or self.throttle.is_muted:
            return False
        self._is_blocked = not self._may_begin(self._received[0])
        return not self._is_blocked

    def deliver(self, requests: list[Received]) -> None:
        """Let requests arrive at the socket. The process reads them once its event loop is free, unless others wait."""
        if not self.has_requests:
            self._waits_since_ms = self._process.work_ms_at_arrival
            self._owners_before = self._process.waiting.began - len(self._process.waiting)
        self._process.arrive(self._accepted.caller, lambda: self._on_readable(requests))

    def work(self, is_over: Callable[[], bool]) -> int:
        """See `Client.work`."""
        begun = used_us = 0
        self._has_begun = True
        standing, is_limited = self.standing, self.pace is not None
        while self.has_work:
            self._report_wait()
            request = self._received.popleft()
            begun += 1
            self._process.report_begin(self)
            used_us += self._process.spend_for_request(self.standing)
            request.begin()
            if self._accepted.caller.is_authenticated:
                self._accepted.is_established = True
            if is_over():
                break
        self._process.report_turn(Turn(self, standing, is_limited, used_us))
        self._pause_or_resume_reading()
        self._note_waiting()
        return begun

    def resume(self) -> None:
        """Let the requests go on that waited for a response."""
        if self._is_blocked and self.has_work:
            self._waits_since_ms = self._process.work_ms
            self._should_begin_at_once = False
        self._process.turns.ready(self)
        self._pause_or_resume_reading()

    def respond(self, header: RequestHeader, response: Message, frame: bytes) -> Message | None:
        """Count a response; return one that says for how long the client is throttled, if it is.

        Args:
            header: of the request.
            response: the response.
            frame: its bytes.
        """
        if self._accepted.is_peer or self.is_closing:
            return None
        throttled = self.throttle.respond(header, response, self.resume, request_bytes=0, response_bytes=len(frame))
        if throttled is not None:
            throttle_ms: int = getattr(throttled, "throttle_time_ms", 0)
            self._process.marks.count(Mark.CLIENT_THROTTLED)
            self._process.report_throttle(self, throttle_ms)
        return throttled

    def close(self) -> None:
        """Drop all requests: the connection has ended."""
        self.is_closing = True
        self.throttle.end()
        self._received.clear()
        self._unread.clear()
        self._note_waiting()
        self._process.turns.forget(self)

    def _on_readable(self, requests: list[Received]) -> None:
        if self.is_closing:
            return
        if not self.has_requests:
            process = self._process
            is_voter = self.standing is Standing.VOTER
            self._should_begin_at_once = is_voter and process.has_time_for_voters
            self._clients_ms_before = process.clients_ms
        self._unread += requests
        if self._is_reading:
            self._read()
        else:
            self._process.marks.count(Mark.CONNECTION_NOT_READ)
        self._note_waiting()

    def _read(self) -> None:
        """Read all that has arrived, and handle it now or in turn."""
        self._is_behind = len(self._unread) > _FEW or bool(self._received)
        self._received += self._unread
        self._unread.clear()
        self._process.turns.ready(self)
        self._pause_or_resume_reading()

    def _read_again(self) -> None:
        if self._is_reading and not self.is_closing:
            self._process.marks.count(Mark.CONNECTION_READ_AGAIN, bool(self._unread))
            self._read()
            self._note_waiting()

    def _pause_or_resume_reading(self) -> None:
        """Read from the socket only while no request waits, or only a few that came together."""
        should_read = not (self._is_behind and self._received) and not self.throttle.is_muted
        if should_read and not self._is_reading:
            self._process.soon(self._read_again)
        self._is_reading = should_read

    def _note_waiting(self) -> None:
        """Tell the process whether requests of its owner wait here. The first request may have changed the owner."""
        owner = self.owner if self.has_requests else None
        if owner == self._waiting_owner:
            return
        waiting = self._process.waiting
        if self._waiting_owner is not None:
            waiting.remove(self, self._waiting_owner)
            waiting.voters -= self._waits_as_voter
        self._waiting_owner, self._was_alone = owner, True
        if owner is not None:
            self._was_alone = waiting.add(self, owner)
            self._waits_as_voter = self.standing is Standing.VOTER
            waiting.voters += self._waits_as_voter

    def _report_wait(self) -> None:
        """Report the wait of the first request; those behind it have waited for the connection itself."""
        process = self._process
        work_ms = process.work_ms - self._waits_since_ms
        if work_ms > 0:
            owner = self.owner if self._waiting_owner is None else self._waiting_owner
            is_alone = self._was_alone and process.waiting.is_alone(owner)
            owners = process.waiting.began - self._owners_before
            clients_ms = process.clients_ms - self._clients_ms_before
            wait = Wait(self.standing, work_ms, self._should_begin_at_once, clients_ms, owners, is_alone)
            process.report_wait(wait)
        # What begins next has waited only since now, and for this one.
        self._waits_since_ms = process.work_ms
        self._should_begin_at_once = False
