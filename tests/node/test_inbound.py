"""One connection alone: its requests wait for the budget without standing in their own way, its answers keep order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from raft.node.budget import RequestBudget
from raft.node.inbound import MAX_UNDER_WAY, InboundConnection
from raft.node.respond import Respond
from raft.wire.frames import FrameReader, ReceivedRequest, encode_request
from raft.wire.messages.api_versions import ApiVersionsResponse
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.requests import produce_request

KIB = 1 << 10
LARGE_BYTES = 600 * KIB


class Socket(asyncio.Transport):
    """What a connection is written to, and whether it is read from."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = True
        self._written = b""

    @property
    def answered(self) -> list[int]:
        """Correlation ids of the answers, as they were written."""
        return [int.from_bytes(frame[:4], "big") for frame in FrameReader(KIB).receive(self._written)]

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self._written += b"".join(list_of_data)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


class Connection:
    """A connection to a node that answers when it is told to."""

    def __init__(self, budget: RequestBudget, refuses: Callable[[int], bool] = lambda _number: False) -> None:
        self.socket = Socket()
        self._refuses = refuses
        self._under_way: list[Respond] = []
        self._inbound = InboundConnection(
            max_frame_bytes=10 * LARGE_BYTES,
            budget=budget,
            handle=self._handle,
            unsupported=lambda: ApiVersionsResponse(error_code=35, api_keys=()),
            opened=lambda _connection: None,
            closed=lambda _connection: None,
        )
        self._inbound.connection_made(self.socket)

    def receive(self, data: bytes) -> None:
        self._inbound.data_received(data)

    async def answer_all(self) -> None:
        """Answer what is under way, and what is begun then."""
        while self._under_way:
            self._under_way.pop(0)(ProduceResponse(responses=()))
            await asyncio.sleep(0)

    def _handle(self, request: ReceivedRequest, respond: Respond) -> None:
        if self._refuses(request.header.correlation_id):
            respond(ProduceResponse(responses=()))
        else:
            self._under_way.append(respond)


def append_frame(number: int, size_bytes: int) -> bytes:
    return encode_request(produce_request(bytes(size_bytes)), 9, correlation_id=number, client_id="client")


def test_large_append_takes_nothing_of_the_budget_while_it_waits_behind_others() -> None:
    async def play() -> list[list[int]]:
        budget = RequestBudget(2 * LARGE_BYTES)
        other = Connection(budget)
        pipelining = [Connection(budget) for _ in range(2)]
        small = b"".join(append_frame(number, 10) for number in range(MAX_UNDER_WAY + 1))
        large = append_frame(MAX_UNDER_WAY + 1, LARGE_BYTES)
        for connection in pipelining:
            connection.receive(small + large[:KIB])
        for number in (0, 1):
            other.receive(append_frame(number, LARGE_BYTES))

        for connection in [*pipelining, other, *pipelining]:
            await connection.answer_all()
        for connection in pipelining:
            assert connection.socket.is_read, "the rest may come"
            connection.receive(large[KIB:])
            await connection.answer_all()
        return [connection.socket.answered for connection in [other, *pipelining]]

    everything = list(range(MAX_UNDER_WAY + 2))
    assert asyncio.run(play()) == [[0, 1], everything, everything]


def test_answers_keep_the_order_of_requests_when_the_budget_lets_the_next_one_in() -> None:
    async def play() -> list[int]:
        connection = Connection(RequestBudget(KIB), refuses=lambda number: number == 2)
        connection.receive(append_frame(1, 2 * KIB) + append_frame(2, 10))
        await connection.answer_all()
        return connection.socket.answered

    assert asyncio.run(play()) == [1, 2]
