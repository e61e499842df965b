"""Measures requests between their receipt and their response."""

from __future__ import annotations

from collections.abc import Callable

from raft.codec import Message
from raft.errors import error_name
from raft.metrics.error_codes import error_codes
from raft.metrics.instruments import Instruments
from raft.metrics.record_count import count_records
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.respond import Respond
from raft.runtime.response_budget import Permit
from raft.wire.frames import ReceivedRequest
from raft.wire.mapping.fetches import fetching_replica
from raft.wire.messages.fetch import FetchRequest, FetchResponse

Handle = Callable[[Caller, ReceivedRequest, Respond], None]

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

    def __call__(self, caller: Caller, received: ReceivedRequest, respond: Respond) -> None:
        """Begin a request. It is measured when its response is given."""
        self._handle(caller, received, _MeasuredRespond(self, _name_of(received), self._clock_s(), respond))

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


class _MeasuredRespond:
    """Passes the response on; see `Respond`."""

    __slots__ = ("_begun_s", "_name", "_requests", "_respond")

    def __init__(self, requests: MeasuredRequests, name: str, begun_s: float, respond: Respond) -> None:
        self._requests = requests
        self._name = name
        self._begun_s = begun_s
        self._respond = respond

    def __call__(self, response: Message | None, permit: Permit | None = None) -> None:
        """See `Respond`."""
        self._requests.finished(self._name, self._begun_s, response)
        self._respond(response, permit)

    def when_gone(self, forget: Callable[[], None]) -> None:
        """See `Respond.when_gone`."""
        self._respond.when_gone(forget)

    def charge(self, used_s: float) -> None:
        """See `Respond.charge`."""
        self._respond.charge(used_s)

    def mark_as_from_peer(self) -> None:
        """See `Respond.mark_as_from_peer`."""
        self._respond.mark_as_from_peer()

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """See `Respond.hang_up`."""
        self._respond.hang_up(reason, cause)

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        """See `Respond.end`."""
        self._requests.finished(self._name, self._begun_s, response)
        self._respond.end(response, reason, cause)

    def fail(self, error: Exception) -> None:
        """See `Respond.fail`."""
        self._respond.fail(error)


def _name_of(received: ReceivedRequest) -> str:
    message = received.message
    if not isinstance(message, FetchRequest):
        return received.api.name
    return OF_CLIENT if fetching_replica(message, received.header.request_api_version) is None else OF_REPLICA
