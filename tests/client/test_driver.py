"""What all drivers share, driven by the test: time is a number, and the test passes the bytes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from raft.client.driver import AwaitExchange, Call, Driver, Sleep, Wait
from raft.client.exchange import Exchange
from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Await, GiveUp, Operation, Pause, Reply, Step
from raft.errors import LocalProtocolError
from raft.types import Endpoint
from raft.wire.frames import ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest
from tests.client.table import PLACES, metadata
from tests.node.harness.peer import serving_all

NODE, OTHER = PLACES[1], PLACES[2]
BEGAN_MS = 1_000


@dataclass(slots=True)
class HandMovedTransport:
    """A connection whose bytes the test moves."""

    exchange: Exchange
    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True

    def requests(self) -> list[ReceivedRequest]:
        """What the node receives."""
        data, received = self.exchange.data_to_send(), []
        while data:
            size = int.from_bytes(data[:4], "big")
            request = decode_request(data[4 : 4 + size])
            assert isinstance(request, ReceivedRequest)
            received.append(request)
            data = data[4 + size :]
        return received

    def respond_to_versions(self) -> None:
        """Respond to ApiVersions, the first request."""
        (request,) = self.requests()
        header = request.header
        self.exchange.receive_data(
            encode_response(serving_all(), header.request_api_version, correlation_id=header.correlation_id)
        )

    def respond(self, *, then: bytes = b"") -> None:
        """Respond to the requests that came; `then` follows the response to Metadata."""
        while requests := self.requests():
            for request in requests:
                header = request.header
                is_metadata = isinstance(request.message, MetadataRequest)
                response = metadata() if is_metadata else serving_all()
                frame = encode_response(response, header.request_api_version, correlation_id=header.correlation_id)
                self.exchange.receive_data(frame + (then if is_metadata else b""))


@dataclass(slots=True)
class Hands:
    """Holds one driver and its connections, in the order in which they were opened."""

    opened: list[tuple[Endpoint, HandMovedTransport]] = field(default_factory=list)
    driver: Driver[HandMovedTransport] = field(init=False)

    def __post_init__(self) -> None:
        self.driver = Driver(Session(ClientSettings(bootstrap_servers=(NODE,), api_timeout_ms=9_000)), self._open)

    def begin(self, begin: Call[..., Any]) -> Generator[Wait[HandMovedTransport], int, Any]:
        return self.driver.call(BEGAN_MS, begin)

    def _open(self, endpoint: Endpoint) -> HandMovedTransport:
        transport = HandMovedTransport(Exchange("me"))
        self.opened.append((endpoint, transport))
        return transport


@pytest.fixture
def hands() -> Hands:
    return Hands()


def ask(endpoint: Endpoint = NODE, *, timeout_ms: int = 5_000, patience_ms: int | None = None) -> Ask:
    request = MetadataRequest(topics=None)
    return Ask(endpoint=endpoint, request=request, timeout_ms=timeout_ms, patience_ms=patience_ms)


def serve_nothing(transport: HandMovedTransport) -> None:
    """Respond to ApiVersions that the node serves no request."""
    transport.requests()
    nothing = ApiVersionsResponse(error_code=0, api_keys=())
    transport.exchange.receive_data(encode_response(nothing, 4, correlation_id=0))


def steps(*taken: Step) -> Call[[], list[Reply]]:
    """A call that takes these steps, and returns their outcomes."""

    def call(_session: Session, _deadline: Deadline) -> Operation[list[Reply]]:
        outcomes = []
        for step in taken:
            outcomes.append((yield step))
        return outcomes

    return call


def awaited(wait: Wait[HandMovedTransport]) -> HandMovedTransport:
    assert isinstance(wait, AwaitExchange)
    return wait.transport


def result(waits: Generator[Wait[HandMovedTransport], int, Any], now_ms: int) -> Any:
    """Resume a call that needs to wait for nothing more."""
    with pytest.raises(StopIteration) as ended:
        waits.send(now_ms)
    return ended.value.value


def test_driver_yields_what_to_wait_for_and_until_when(hands: Hands) -> None:
    waits = hands.begin(steps(Pause(duration_ms=100), ask(), Pause(duration_ms=50)))

    assert next(waits) == Sleep(until_ms=1_100)
    asking = waits.send(1_101)
    assert asking == AwaitExchange(endpoint=NODE, transport=hands.opened[0][1], until_ms=6_101)
    awaited(asking).respond()
    assert waits.send(1_200) == Sleep(until_ms=1_250)
    assert result(waits, 1_251) == [
        Reply(now_ms=1_101),
        Reply(now_ms=1_200, response=metadata()),
        Reply(now_ms=1_251),
    ]
    assert hands.driver.transports == {NODE: awaited(asking)}, "it can be used again"


def test_driver_gives_the_deadline_of_a_call_from_its_begin(hands: Hands) -> None:
    def call(_session: Session, deadline: Deadline) -> Operation[Deadline]:
        yield Pause(duration_ms=1)
        return deadline

    waits = hands.begin(call)
    next(waits)

    assert result(waits, 1_001) == Deadline(started_ms=BEGAN_MS, timeout_ms=9_000)


def respond_throttled(transport: HandMovedTransport, throttle_ms: int) -> None:
    """Respond to Metadata that the client is throttled."""
    transport.respond_to_versions()
    (request,) = transport.requests()
    response = replace(metadata(), throttle_time_ms=throttle_ms)
    header = request.header
    transport.exchange.receive_data(
        encode_response(response, header.request_api_version, correlation_id=header.correlation_id)
    )


@pytest.mark.rule("QUOTA-4")
def test_throttled_client_asks_the_node_later_and_has_more_time_for_it(hands: Hands) -> None:
    def call(_session: Session, deadline: Deadline) -> Operation[tuple[int, int]]:
        yield ask()
        left_ms = deadline.left_ms(BEGAN_MS)
        yield ask(OTHER)
        yield ask()
        return left_ms, deadline.left_ms(BEGAN_MS)

    waits = hands.begin(call)
    respond_throttled(awaited(next(waits)), 700)
    awaited(waits.send(1_100)).respond()

    assert waits.send(1_200) == Sleep(until_ms=1_800), "the first node, 700 ms after its response"
    asking = waits.send(1_800)
    assert asking == AwaitExchange(endpoint=NODE, transport=hands.opened[0][1], until_ms=6_800)
    awaited(asking).respond()
    assert result(waits, 1_900) == (9_000, 9_600)


def test_driver_yields_the_same_wait_when_it_is_resumed_early(hands: Hands) -> None:
    waits = hands.begin(steps(ask(patience_ms=500)))
    first = next(waits)

    assert waits.send(1_001) == first
    assert waits.send(1_499) == first
    assert result(waits, 1_500) == [Reply(now_ms=1_500, is_pending=True, is_connected=False)]


def test_driver_uses_a_connection_for_one_request_after_the_other(hands: Hands) -> None:
    waits = hands.begin(steps(ask(), ask(OTHER), ask()))

    wait = next(waits)
    for _ in range(2):
        awaited(wait).respond()
        wait = waits.send(1_001)
    awaited(wait).respond()
    result(waits, 1_001)

    assert [endpoint for endpoint, _ in hands.opened] == [NODE, OTHER]


def test_driver_waits_until_the_timeout_of_the_request_however_often_it_is_awaited(hands: Hands) -> None:
    waits = hands.begin(
        steps(
            ask(timeout_ms=500, patience_ms=200),
            Await(endpoint=NODE, patience_ms=200),
            Await(endpoint=NODE, patience_ms=200),
        )
    )

    limits = [wait.until_ms for wait in (next(waits), waits.send(1_200), waits.send(1_400))]
    outcomes = result(waits, 1_500)

    assert limits == [1_200, 1_400, 1_500]
    assert outcomes[1:] == [
        Reply(now_ms=1_400, is_pending=True, is_connected=False),
        Reply(now_ms=1_500, failure="no connection in time", is_connected=False),
    ]
    assert hands.opened[0][1].is_closed


def test_response_that_came_before_the_driver_was_resumed_counts_even_after_the_timeout(hands: Hands) -> None:
    waits = hands.begin(steps(ask(timeout_ms=500)))
    awaited(next(waits)).respond()

    assert result(waits, 9_999) == [Reply(now_ms=9_999, response=metadata())]


def test_request_without_any_time_fails_without_a_wait(hands: Hands) -> None:
    waits = hands.begin(steps(ask(timeout_ms=0)))

    with pytest.raises(StopIteration) as ended:
        next(waits)

    assert ended.value.value == [Reply(now_ms=BEGAN_MS, failure="no connection in time", is_connected=False)]
    assert hands.driver.transports == {}


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        pytest.param(ConnectionRefusedError(111, "Connect call failed"), "Connection refused", id="refused"),
        pytest.param(TimeoutError(110, "timed out"), "no connection in time", id="timeout of the kernel"),
        pytest.param(UnicodeError("label too long"), "label too long", id="impossible host"),
        pytest.param(OverflowError("port must be 0-65535"), "port must be 0-65535", id="impossible port"),
    ],
)
def test_driver_says_in_words_why_a_connection_is_lost(hands: Hands, error: Exception, failure: str) -> None:
    waits = hands.begin(steps(ask()))
    transport = awaited(next(waits))
    transport.exchange.fail(error)

    assert result(waits, 1_001) == [Reply(now_ms=1_001, failure=failure, is_connected=False)]
    assert transport.is_closed
    assert hands.driver.transports == {}


def test_driver_says_whether_a_connection_was_open_before_it_was_lost(hands: Hands) -> None:
    waits = hands.begin(steps(ask(timeout_ms=500)))
    awaited(next(waits)).requests()

    assert result(waits, 1_500) == [Reply(now_ms=1_500, failure="no response in time", is_connected=True)]


def test_driver_raises_errors_that_no_connection_explains(hands: Hands) -> None:
    waits = hands.begin(steps(ask()))
    transport = awaited(next(waits))
    transport.exchange.fail(KeyError("a bug"))

    with pytest.raises(KeyError):
        waits.send(1_001)

    assert transport.is_closed


def test_driver_raises_that_the_node_does_not_serve_a_request_and_closes_its_connection(hands: Hands) -> None:
    waits = hands.begin(steps(ask()))
    transport = awaited(next(waits))
    serve_nothing(transport)

    with pytest.raises(LocalProtocolError, match="does not serve Metadata"):
        waits.send(1_001)

    assert transport.is_closed
    assert hands.driver.transports == {}


def test_request_that_may_be_unsupported_fails_when_the_node_does_not_serve_it(hands: Hands) -> None:
    waits = hands.begin(steps(replace(ask(), may_be_unsupported=True)))
    transport = awaited(next(waits))
    serve_nothing(transport)

    (outcome,) = result(waits, 1_001)

    assert outcome.failure == "the node does not serve Metadata in any version known here"
    assert transport.is_closed


def test_connection_lost_between_two_requests_is_replaced_for_the_next_one(hands: Hands) -> None:
    waits = hands.begin(steps(ask(), Pause(duration_ms=10), ask()))
    transport = awaited(next(waits))
    transport.respond()
    waits.send(1_001)
    transport.exchange.receive_data(b"")

    second = awaited(waits.send(1_011))
    second.respond()
    outcomes = result(waits, 1_012)

    assert outcomes[2] == Reply(now_ms=1_012, response=metadata())
    assert [transport.is_closed for _, transport in hands.opened] == [True, False]
    assert hands.driver.transports == {NODE: second}


def test_response_counts_when_invalid_data_follows_it_and_the_connection_is_closed(hands: Hands) -> None:
    waits = hands.begin(steps(ask()))
    transport = awaited(next(waits))
    transport.respond(then=b"\xff" * 8)

    assert result(waits, 1_001) == [Reply(now_ms=1_001, response=metadata())]
    assert transport.is_closed


def test_request_that_is_given_up_closes_its_connection(hands: Hands) -> None:
    waits = hands.begin(steps(ask(patience_ms=10), GiveUp(endpoint=NODE), Pause(duration_ms=10)))
    transport = awaited(next(waits))

    assert waits.send(1_010) == Sleep(until_ms=1_020)
    assert transport.is_closed


def test_call_that_is_closed_closes_the_connection_of_its_request_alone(hands: Hands) -> None:
    waits = hands.begin(steps(ask(OTHER), ask()))
    awaited(next(waits)).respond()
    waits.send(1_001)

    waits.close()

    assert [(endpoint, transport.is_closed) for endpoint, transport in hands.opened] == [(OTHER, False), (NODE, True)]
    assert list(hands.driver.transports) == [OTHER]


def test_driver_that_is_closed_closes_every_connection(hands: Hands) -> None:
    waits = hands.begin(steps(ask(OTHER), ask()))
    awaited(next(waits)).respond()
    waits.send(1_001)

    hands.driver.close()

    assert all(transport.is_closed for _, transport in hands.opened)
    assert hands.driver.transports == {}
