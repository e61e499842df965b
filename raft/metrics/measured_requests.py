"""Measures requests between their receipt and their response."""

from __future__ import annotations

from collections.abc import Callable

from raft.codec import Message
from raft.errors import error_name
from raft.metrics.error_codes import error_codes
from raft.metrics.instruments import Instruments
from raft.records.header_fields import count_records
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.request import Request
from raft.runtime.response_budget import Permit
from raft.wire.apis import api_of
from raft.wire.mapping.fetches import fetching_replica
from raft.wire.messages.fetch import FetchRequest, FetchResponse

Handle = Callable[[Request[Message]], None]

OF_CLIENT = "FetchConsumer"
OF_REPLICA = "FetchFollower"
"""The names that Kafka's metrics give to the two kinds of fetches."""


class MeasuredRequests:
    """Begins requests, and measures them.

    Args:
        handle: begins a request.
        instruments: of the node.
        clock_s: returns the time of a monotonic clock, in seconds.
    """

    def __init__(self, handle: Handle, instruments: Instruments, clock_s: Callable[[], float]) -> None:
        self._handle = handle
        self._instruments = instruments
        self._clock_s = clock_s
        self._observers: dict[str, Callable[[float], None]] = {}

    def __call__(self, request: Request[Message]) -> None:
        """Begin a request. It is measured when its response is given."""
        self._handle(_MeasuredRequest(self, _name_of(request), self._clock_s(), request))

    def finished(self, name: str, begun_s: float, response: Message | None) -> None:
        """Measure a request that has its response.

        Args:
            name: of the request.
            begun_s: when it was received.
            response: None if the client expects none.
        """
        observe = self._observers.get(name)
        if observe is None:
            observe = self._observers[name] = self._instruments.request_ms.of(name).observe
        observe((self._clock_s() - begun_s) * 1000)
        if response is None:
            return
        for code in error_codes(response):
            self._instruments.errors.of(name, error_name(code)).inc()
        if isinstance(response, FetchResponse):
            self._count_sent(name, response)

    def _count_sent(self, name: str, response: FetchResponse) -> None:
        instruments = self._instruments
        is_for_client = name == OF_CLIENT
        sent_bytes = instruments.bytes_out if is_for_client else instruments.replicated_out
        sent_records = instruments.records_to_clients if is_for_client else instruments.records_to_replicas
        for topic in response.responses:
            for partition in topic.partitions:
                if partition.records:
                    sent_bytes.inc(len(partition.records))
                    sent_records.inc(count_records(partition.records))


class _MeasuredRequest:
    """Passes the response on; see `Request`."""

    __slots__ = ("_begun_s", "_name", "_request", "_requests", "caller", "version")

    def __init__(self, requests: MeasuredRequests, name: str, begun_s: float, request: Request[Message]) -> None:
        self._requests = requests
        self._name = name
        self._begun_s = begun_s
        self._request = request
        self.caller: Caller = request.caller
        self.version = request.version

    @property
    def message(self) -> Message:
        """See `Request.message`."""
        return self._request.message

    @property
    def client_id(self) -> str | None:
        """See `Request.client_id`."""
        return self._request.client_id

    def respond(self, response: Message | None, permit: Permit | None = None) -> None:
        """See `Request.respond`."""
        self._requests.finished(self._name, self._begun_s, response)
        self._request.respond(response, permit)

    def when_gone(self, forget: Callable[[], None]) -> None:
        """See `Request.when_gone`."""
        self._request.when_gone(forget)

    def charge(self, used_s: float) -> None:
        """See `Request.charge`."""
        self._request.charge(used_s)

    def mark_as_from_peer(self) -> None:
        """See `Request.mark_as_from_peer`."""
        self._request.mark_as_from_peer()

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """See `Request.hang_up`."""
        self._request.hang_up(reason, cause)

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        """See `Request.end`."""
        self._requests.finished(self._name, self._begun_s, response)
        self._request.end(response, reason, cause)

    def fail(self, error: Exception) -> None:
        """See `Request.fail`."""
        self._request.fail(error)


def _name_of(request: Request[Message]) -> str:
    message = request.message
    if not isinstance(message, FetchRequest):
        return api_of(message).name
    return OF_CLIENT if fetching_replica(message, request.version) is None else OF_REPLICA
