"""Inbound connections: the order of responses, the bounds on requests, and which connections are dropped."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable

import pytest

from raft.codec import Message
from raft.config.listener_security import ListenerSecurity
from raft.node.gate import Gate
from raft.node.inbound import MAX_UNDER_WAY, InboundConnection
from raft.node.received_frames import ReceivedFrames
from raft.node.service import Service
from raft.node.slot import Slot
from raft.runtime.request import Request
from raft.runtime.response_budget import ResponseBudget
from raft.types import Endpoint
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from raft.wire.messages.produce import ProduceResponse, ProduceResponseTopic
from tests.node.harness.inbound import Shared, Socket
from tests.node.harness.requests import produce_request
from tests.node.harness.turns import TurnsOnDemand

KIB = 1 << 10
LARGE_BYTES = 600 * KIB
LISTENER = Endpoint("localhost", 9093, "CONTROLLER")


class Connection:
    """A connection to a node that responds when the test says so."""

    def __init__(self, node: Shared, refuses: Callable[[int], bool] = lambda _number: False) -> None:
        self.socket = Socket()
        self._refuses = refuses
        self.responses = ResponseBudget(1 << 30)
        self.under_way: list[Request[Message]] = []
        service = Service(
            max_frame_bytes=100 * LARGE_BYTES,
            requests=node.requests,
            large_frames=node.large_frames,
            responses=self.responses,
            handle=self._handle,
            unsupported=lambda: ApiVersionsResponse(error_code=35, api_keys=()),
            registry=node,
            errors=node.errors,
            turns=node.turns,
        )
        gate = Gate(LISTENER, None, ListenerSecurity(), lambda _caller, _outcome: None)
        self.inbound = InboundConnection(service, gate)
        self.socket.protocol = self.inbound
        self.inbound.connection_made(self.socket)

    def receive(self, data: bytes) -> None:
        self.inbound.data_received(data)

    async def respond_to_all(self) -> None:
        """Respond to all requests, also to those that begin meanwhile."""
        while self.under_way:
            self.under_way.pop(0).respond(ProduceResponse(responses=()))
            await settled()

    def _handle(self, request: Request[Message]) -> None:
        assert isinstance(request, Slot)
        assert request.header is not None
        if self._refuses(request.header.correlation_id):
            request.respond(ProduceResponse(responses=()))
        else:
            self.under_way.append(request)


async def settled() -> None:
    """Let the event loop send the responses, and give the turns that follow them."""
    for _ in range(4):
        await asyncio.sleep(0)


def append_frame(number: int, size_bytes: int) -> bytes:
    return encode_request(produce_request(bytes(size_bytes)), 9, correlation_id=number, client_id="client")


def test_large_append_does_not_count_while_it_waits_behind_others() -> None:
    async def play() -> list[list[int]]:
        node = Shared(request_bytes=2 * LARGE_BYTES)
        other = Connection(node)
        pipelining = [Connection(node) for _ in range(2)]
        small = b"".join(append_frame(number, 10) for number in range(MAX_UNDER_WAY + 1))
        large = append_frame(MAX_UNDER_WAY + 1, LARGE_BYTES)
        for connection in pipelining:
            connection.receive(small + large[:KIB])
        for number in (0, 1):
            other.receive(append_frame(number, LARGE_BYTES))

        for connection in [*pipelining, other, *pipelining]:
            await connection.respond_to_all()
        for connection in pipelining:
            assert connection.socket.is_read, "the node reads the rest"
            connection.receive(large[KIB:])
            await connection.respond_to_all()
        return [connection.socket.responded for connection in [other, *pipelining]]

    everything = list(range(MAX_UNDER_WAY + 2))
    assert asyncio.run(play()) == [[0, 1], everything, everything]


def test_responses_keep_the_order_of_requests_when_the_budget_is_free_again() -> None:
    async def play() -> list[int]:
        connection = Connection(Shared(request_bytes=KIB), refuses=lambda number: number == 2)
        connection.receive(append_frame(1, 2 * KIB) + append_frame(2, 10))
        await connection.respond_to_all()
        return connection.socket.responded

    assert asyncio.run(play()) == [1, 2]


def test_responses_of_one_turn_of_the_loop_are_sent_in_one_write() -> None:
    async def play() -> Socket:
        connection = Connection(Shared())
        connection.receive(b"".join(append_frame(number, 10) for number in range(3)))
        for request in connection.under_way:
            request.respond(ProduceResponse(responses=()))
        await asyncio.sleep(0)
        return connection.socket

    socket = asyncio.run(play())
    assert (socket.responded, socket.writes) == ([0, 1, 2], 1)


@pytest.mark.parametrize("ending", ["responded", "abandoned"])
def test_request_is_freed_without_the_collector_after_its_response(ending: str) -> None:
    async def play() -> int:
        connection = Connection(Shared())
        connection.receive(b"".join(append_frame(number, 10) for number in range(50)))
        for respond in connection.under_way:
            respond.when_gone(lambda respond=respond: connection.under_way.append(respond))  # type: ignore[misc]
        del respond
        if ending == "responded":
            await connection.respond_to_all()
        else:
            connection.inbound.connection_lost(None)
        connection.under_way.clear()
        return sum(isinstance(each, Slot) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(play()) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("begins", ["at once", "when the budget is free", "when its responses are read"])
def test_connection_is_dropped_alone_when_a_handler_fails(begins: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_number: int) -> bool:
        raise MemoryError("decompression")

    async def play() -> tuple[bool, list[int]]:
        node = Shared(request_bytes=KIB)
        first, failing, next_one = Connection(node), Connection(node, refuses=fail), Connection(node)
        if begins == "when the budget is free":
            first.receive(append_frame(1, 2 * KIB))
        if begins == "when its responses are read":
            failing.inbound.pause_writing()
        failing.receive(append_frame(1, 10))
        next_one.receive(append_frame(1, 10))
        failing.inbound.resume_writing()
        await first.respond_to_all()
        await next_one.respond_to_all()
        is_aborted = failing.socket.is_aborted
        failing.inbound.connection_lost(None)
        assert node.requests._taken_bytes == 0
        return is_aborted, next_one.socket.responded

    assert asyncio.run(play()) == (True, [1])
    (logged,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert logged.exc_info is not None
    assert repr(logged.exc_info[1]) == "MemoryError('decompression')"


def test_announced_size_does_not_count_against_other_connections() -> None:
    async def play() -> list[int]:
        node = Shared(request_bytes=LARGE_BYTES, large_bytes=LARGE_BYTES)
        for _ in range(100):
            Connection(node).receive(append_frame(1, 50 * LARGE_BYTES)[:12])
        honest = Connection(node)
        honest.receive(append_frame(1, LARGE_BYTES))
        await honest.respond_to_all()
        return honest.socket.responded

    assert asyncio.run(play()) == [1]


def test_only_the_oldest_large_frame_is_read_while_too_much_is_received() -> None:
    async def play() -> tuple[list[bool], list[bool], list[list[int]]]:
        node = Shared(large_bytes=LARGE_BYTES)
        connections = [Connection(node) for _ in range(3)]
        frame = append_frame(1, LARGE_BYTES)
        for connection in connections:
            connection.receive(frame[: 400 * KIB])
        reads_before = [connection.socket.is_read for connection in connections]
        for connection in connections[:1]:
            connection.receive(frame[400 * KIB :])
        reads_after = [connection.socket.is_read for connection in connections]
        for connection in connections[1:]:
            connection.receive(frame[400 * KIB :])
        for connection in connections:
            await connection.respond_to_all()
        return reads_before, reads_after, [connection.socket.responded for connection in connections]

    before, after, responded = asyncio.run(play())
    assert before == [True, False, False]
    assert after == [True, True, False]
    assert responded == [[1], [1], [1]]


@pytest.mark.rule("SHARE-11")
def test_pieces_of_large_frames_are_small_while_too_much_is_received() -> None:
    async def play() -> list[list[int]]:
        node = Shared(large_bytes=LARGE_BYTES)
        oldest, next_one = (Connection(node) for _ in range(2))
        frame = append_frame(1, 10 * LARGE_BYTES)
        sizes = []
        for received in (frame[: 16 * KIB], frame[: 16 * KIB], frame[:LARGE_BYTES]):
            oldest.receive(received)
            next_one.receive(frame[: 16 * KIB])
            sizes.append([len(connection.inbound.get_buffer(-1)) for connection in (oldest, next_one)])
        return sizes

    small, large = 16 * KIB, 256 * KIB
    assert asyncio.run(play()) == [[large, large], [large, large], [large, small]]


@pytest.mark.rule("SHARE-11")
def test_large_pieces_count_while_they_wait_for_their_turns() -> None:
    async def play() -> tuple[list[int], int, int]:
        node, rounds = Shared(large_bytes=LARGE_BYTES), TurnsOnDemand()
        node.turns = rounds.turns
        connections = [Connection(node) for _ in range(5)]
        frame = append_frame(1, LARGE_BYTES)
        for connection in connections:
            connection.receive(frame[: 16 * KIB])
        rounds.run()
        sizes = []

        def receive_pieces() -> None:  # Within the turn of the first connection: the others wait.
            for connection in connections[1:]:
                sizes.append(len(connection.inbound.get_buffer(-1)))
                connection.receive(frame[16 * KIB :][: sizes[-1]])

        rounds.turns.measure(connections[0].inbound, receive_pieces)
        taken_bytes = node.large_frames.taken_bytes
        rounds.run()
        return sizes, taken_bytes, node.large_frames.taken_bytes

    sizes, waiting_bytes, looked_at_bytes = asyncio.run(play())
    assert sizes == [256 * KIB, 256 * KIB, 256 * KIB, 16 * KIB]
    assert waiting_bytes == pytest.approx(3 * 272 * KIB, abs=KIB)
    assert looked_at_bytes == pytest.approx(3 * 272 * KIB + 32 * KIB, abs=KIB)


@pytest.mark.rule("SHARE-11")
def test_large_piece_has_nothing_of_the_next_frame() -> None:
    async def play() -> list[int]:
        connection = Connection(Shared())
        sizes = []
        for rest_bytes in (300 * KIB, 100 * KIB, 17 * KIB, 2 * KIB):
            frame = append_frame(1, 300 * KIB + rest_bytes)
            connection.receive(frame[:-rest_bytes])
            sizes.append(len(connection.inbound.get_buffer(-1)))
            connection.receive(frame[-rest_bytes:])
            await connection.respond_to_all()
        return sizes

    assert asyncio.run(play()) == [256 * KIB, 100 * KIB, 17 * KIB, 16 * KIB]


@pytest.mark.rule("SHARE-11")
@pytest.mark.parametrize("response_bytes", [70 * KIB, 500 * KIB])
def test_response_counts_until_its_client_has_read_it(response_bytes: int) -> None:
    async def play() -> list[int]:
        connection = Connection(Shared())
        connection.socket.reads_nothing = True
        permit = connection.responses.take(response_bytes)
        connection.receive(append_frame(1, 10))
        topic = ProduceResponseTopic(name="x" * KIB, partition_responses=())
        connection.under_way.pop().respond(ProduceResponse(responses=(topic,) * (response_bytes // KIB)), permit)
        await settled()
        taken = [connection.responses.taken_bytes]
        connection.socket.read_all()
        return [*taken, connection.responses.taken_bytes]

    assert asyncio.run(play()) == [response_bytes, 0]


def test_connection_is_dropped_when_its_frame_delays_others_and_makes_no_progress() -> None:
    async def play() -> list[list[bool]]:
        node = Shared(large_bytes=LARGE_BYTES)
        stalled, slow, waiting = (Connection(node) for _ in range(3))
        frame = append_frame(1, 10 * LARGE_BYTES)
        stalled.receive(frame[: 400 * KIB])
        node.now_s = 100.0
        node.large_frames.drop_slow()
        first = [stalled.socket.is_aborted]
        for connection in (slow, waiting):
            connection.receive(frame[: 400 * KIB])
        node.large_frames.drop_slow()
        second = [connection.socket.is_aborted for connection in (stalled, slow, waiting)]
        stalled.inbound.connection_lost(None)
        slow.receive(frame[400 * KIB : 600 * KIB])
        node.now_s = 101.0
        node.large_frames.drop_slow()
        third = [connection.socket.is_aborted for connection in (stalled, slow, waiting)]
        return [first, second, third]

    assert asyncio.run(play()) == [
        [False],  # As long as no other frame waits.
        [True, False, False],
        [True, True, False],  # 200 KiB in a second; the third was not read meanwhile.
    ]


@pytest.mark.parametrize("come", [3, 8, 100_000])
def test_large_request_is_refused_as_soon_as_its_api_is_known_not_to_be_produce(come: int) -> None:
    async def play() -> bool:
        connection = Connection(Shared())
        topics = tuple(MetadataRequestTopic(name=f"topic-{number}") for number in range(9_000))
        frame = encode_request(MetadataRequest(topics=topics), 9, correlation_id=1, client_id="client")
        connection.receive(frame[:come])
        return connection.socket.is_aborted

    assert asyncio.run(play()) is (come > 4)


def test_connection_that_never_sends_a_request_is_dropped_soon() -> None:
    async def play() -> list[bool]:
        loop, connections = asyncio.get_running_loop(), [Connection(Shared()) for _ in range(2)]
        connections[1].receive(encode_request(ApiVersionsRequest(), 0, correlation_id=1, client_id=None))
        started_s = loop.time()
        loop.time = lambda: started_s + 10.1  # type: ignore[method-assign]
        for connection in connections:
            connection.inbound.drop_if_idle(600)
        return [connection.socket.is_aborted for connection in connections]

    assert asyncio.run(play()) == [True, False]


@pytest.mark.rule("SHARE-4")
@pytest.mark.parametrize(
    ("received", "is_read_after"),
    [
        pytest.param([append_frame(1, 10), append_frame(2, 10)], [True, False], id="more while a little waits"),
        pytest.param([append_frame(1, 20_000)], [False], id="much at once"),
    ],
)
def test_connection_is_not_read_while_a_request_of_it_waits_for_a_turn(
    received: list[bytes], is_read_after: list[bool]
) -> None:
    async def play() -> list[tuple[bool, int]]:
        node = Shared()
        rounds = TurnsOnDemand()
        node.turns = rounds.turns
        first, second = Connection(node), Connection(node)
        seen = []

        def receive_while_first_is_served() -> None:
            for data in received:
                second.receive(data)
                seen.append((second.socket.is_read, len(second.under_way)))

        rounds.turns.measure(first.inbound, receive_while_first_is_served)
        rounds.run()
        seen.append((second.socket.is_read, len(second.under_way)))
        return seen

    assert asyncio.run(play()) == [*((is_read, 0) for is_read in is_read_after), (True, len(received))]


@pytest.mark.rule("SHARE-1")
def test_requests_of_one_read_are_begun_one_by_one_until_the_turn_is_over() -> None:
    async def play() -> list[tuple[int, int, bool]]:
        connection = Connection(Shared(), refuses=lambda _number: True)
        received = b"".join(append_frame(number, 10) for number in range(50))
        connection.inbound._requests.add(received, connection.inbound)
        connection.inbound._is_behind = True
        seen = []
        for requests in (3, 40, 100):
            left = iter(range(requests - 1))
            # `is_over` is asked after each request.
            begun = connection.inbound.work(lambda left=left: next(left, None) is None)  # type: ignore[misc]
            seen.append((begun, connection.socket.responded[-1], connection.socket.is_read))
        return seen

    assert asyncio.run(play()) == [(3, 2, False), (40, 42, False), (7, 49, True)]


def test_error_that_is_not_expected_closes_the_connection_and_begins_nothing_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play() -> tuple[bool, int]:
        node = Shared()
        connection = Connection(node)

        def fail(_data: bytes) -> bytes:
            raise TypeError("a certificate that nobody expects")

        connection.inbound._requests._frames = ReceivedFrames(1 << 20, fail)
        connection.receive(append_frame(1, 10))
        connection.receive(append_frame(2, 10))
        return connection.socket.is_aborted, len(connection.under_way)

    assert asyncio.run(play()) == (True, 0)
    assert "a certificate that nobody expects" in caplog.text


def test_errors_that_are_not_expected_are_logged_once_with_their_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> None:
        node = Shared()

        def fail(_data: bytes) -> bytes:
            raise TypeError("the same each time")

        for number in range(50):
            connection = Connection(node)
            connection.inbound._requests._frames = ReceivedFrames(1 << 20, fail)
            connection.receive(append_frame(number, 10))
        node.now_s += 60
        connection = Connection(node)
        connection.inbound._requests._frames = ReceivedFrames(1 << 20, fail)
        connection.receive(append_frame(1, 10))

    asyncio.run(play())

    assert caplog.messages == [
        "cannot handle a request: TypeError('the same each time'); address=unknown",
        "cannot handle a request: TypeError('the same each time'); address=unknown (suppressed 49 repetitions)",
    ]
    assert caplog.text.count("Traceback") == 2


def test_turns_do_not_remember_a_connection_that_was_lost_before_its_responses_were_sent() -> None:
    async def play() -> object:
        node = Shared()
        node.turns = TurnsOnDemand().turns
        connection, waiting = Connection(node), Connection(node)
        connection.receive(b"".join(append_frame(number, 10) for number in range(2)))
        node.turns.measure(connection.inbound, lambda: waiting.receive(append_frame(1, 10)))
        connection.under_way[0].respond(ProduceResponse(responses=()))
        connection.inbound.connection_lost(None)
        lost = weakref.ref(connection.inbound)
        del connection
        await settled()
        gc.collect()
        return lost()

    assert asyncio.run(play()) is None
