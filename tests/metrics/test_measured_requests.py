"""Requests are measured between their receipt and their response, and nothing else of them changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from raft.codec import Message
from raft.metrics.instruments import Instruments
from raft.metrics.measured_requests import MeasuredRequests
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.request import Request
from raft.runtime.response_budget import Permit
from raft.types import Endpoint
from raft.wire.frames import ReceivedRequest, decode_request, encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.metrics.metered import TOPIC
from tests.node.harness.batches import batch_of
from tests.node.harness.requests import produce_request

CALLER = Caller(listener=Endpoint("localhost", 9093), for_clients=None, address="192.0.2.1")
REQUEST = "kafka_network_requestmetrics_totaltimems"


class Recorded:
    """A request that records what it is told."""

    caller = CALLER
    client_id = "test"

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.message: Message = ApiVersionsRequest()
        self.version = 3

    def respond(self, response: Message | None, permit: Permit | None = None) -> None:
        self.calls.append(("response", (response, permit)))

    def when_gone(self, forget: Callable[[], None]) -> None:
        self.calls.append(("when_gone", forget))

    def charge(self, used_s: float) -> None:
        self.calls.append(("charge", used_s))

    def mark_as_from_peer(self) -> None:
        self.calls.append(("mark_as_from_peer", None))

    def hang_up(self, reason: str, cause: DropCause) -> None:
        self.calls.append(("hang_up", (reason, cause)))

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        self.calls.append(("end", (response, reason, cause)))

    def fail(self, error: Exception) -> None:
        self.calls.append(("fail", error))


class Measured:
    """Measured requests, whose handler does what the test says."""

    def __init__(self, handler: Callable[[Request[Message]], None]) -> None:
        self.registry = CollectorRegistry()
        self.now_s = 0.0
        self.recorded = Recorded()
        self._requests = MeasuredRequests(handler, Instruments(self.registry, TOPIC), lambda: self.now_s)

    def begin(self, message: Message, version: int) -> None:
        frame = encode_request(message, version, correlation_id=1, client_id="test")
        received = decode_request(frame[4:])
        assert isinstance(received, ReceivedRequest)
        self.recorded.message, self.recorded.version = received.message, received.header.request_api_version
        self._requests(self.recorded)

    def count(self, name: str) -> float | None:
        return self.registry.get_sample_value(f"{REQUEST}_count", {"request": name})


def test_request_is_measured_when_its_response_is_given() -> None:
    held: list[Request[Message]] = []
    measured = Measured(held.append)
    response, permit = ApiVersionsResponse(error_code=35, api_keys=()), Permit(7, None)
    measured.begin(ApiVersionsRequest(), 3)
    assert measured.count("ApiVersions") is None

    measured.now_s = 0.2
    held[0].respond(response, permit)

    assert measured.recorded.calls == [("response", (response, permit))]
    assert measured.count("ApiVersions") == 1
    assert measured.registry.get_sample_value(f"{REQUEST}_sum", {"request": "ApiVersions"}) == pytest.approx(200)
    errors = {"request": "ApiVersions", "error": "UNSUPPORTED_VERSION"}
    assert measured.registry.get_sample_value("kafka_network_requestmetrics_errors_total", errors) == 1


def test_request_without_a_response_is_measured_too() -> None:
    measured = Measured(lambda request: request.respond(None))

    measured.begin(produce_request(batch_of(b"x"), acks=0), 9)

    assert measured.recorded.calls == [("response", (None, None))]
    assert measured.count("Produce") == 1


def forget() -> None:
    """Stands for what a handler does when its caller has gone."""


ERROR = ValueError("an error")


@pytest.mark.parametrize(
    ("handler", "call"),
    [
        pytest.param(lambda request: request.when_gone(forget), ("when_gone", forget), id="when_gone"),
        pytest.param(lambda request: request.charge(0.5), ("charge", 0.5), id="charge"),
        pytest.param(lambda request: request.mark_as_from_peer(), ("mark_as_from_peer", None), id="mark_as_from_peer"),
        pytest.param(
            lambda request: request.hang_up("why", DropCause.IDLE), ("hang_up", ("why", DropCause.IDLE)), id="hang_up"
        ),
        pytest.param(lambda request: request.fail(ERROR), ("fail", ERROR), id="fail"),
    ],
)
def test_other_calls_of_a_handler_are_passed_on(
    handler: Callable[[Request[Message]], None], call: tuple[str, object]
) -> None:
    measured = Measured(handler)

    measured.begin(ApiVersionsRequest(), 3)

    assert measured.recorded.calls == [call]
    assert measured.count("ApiVersions") is None


def test_request_is_measured_when_its_connection_ends_after_the_response() -> None:
    response = ApiVersionsResponse(error_code=35, api_keys=())
    measured = Measured(lambda request: request.end(response, "why", DropCause.FAILED_AUTHENTICATION))

    measured.begin(ApiVersionsRequest(), 3)

    assert measured.recorded.calls == [("end", (response, "why", DropCause.FAILED_AUTHENTICATION))]
    assert measured.count("ApiVersions") == 1
