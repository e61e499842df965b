"""Clients that a node does not know yet: one after the other, address by address, in a part of the node's time."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path

import pytest

from raft.node.request_frames import MAX_REQUEST_BYTES
from raft.node.turns import CREDIT_S, SHARE, Turns
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.types import Endpoint
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.node.harness.guarded_connection import GuardedConnection
from tests.node.harness.keys import Keys

VOTERS, CLIENTS = (Endpoint("localhost", port, name) for port, name in ((9093, "CONTROLLER"), (9193, "CLIENT")))
HANDSHAKE_S = 0.001


class Loop:
    """An event loop whose time passes only while clients are handled, and while nothing is due."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.handled: list[tuple[str, bytes]] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self.turns = Turns(lambda: self.now_s, lambda: self.now_s, self._call_later)

    def run(self, *, within_s: float = 3600.0) -> None:
        """Do everything that becomes due in time."""
        end_s = self.now_s + within_s
        while self._timers and self._timers[0][0] <= end_s:
            due_s, _, action = heapq.heappop(self._timers)
            self.now_s = max(self.now_s, due_s)
            action()

    def _call_later(self, after_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self.now_s + after_s, next(self._numbers), action))


class Client:
    """A connection that takes the node a millisecond with each read."""

    def __init__(self, loop: Loop, name: str, *, address: str = "10.0.0.1", listener: Endpoint = CLIENTS) -> None:
        self.caller = Caller(listener, None, address)
        self.is_closing = False
        self._loop = loop
        self._name = name

    def receive(self, data: bytes) -> None:
        """Note the bytes."""
        self._loop.now_s += HANDSHAKE_S
        self._loop.handled.append((self._name, data))

    def drop(self, reason: str | None = None, cause: DropCause = DropCause.INVALID_REQUEST) -> None:
        """Note the reason."""
        self.is_closing = True
        self._loop.handled.append((self._name, f"dropped: {reason}".encode()))


def names(handled: Iterable[tuple[str, bytes]]) -> list[str]:
    return [name for name, _ in handled]


def test_read_of_a_client_is_handled_in_the_next_turn_of_the_event_loop() -> None:
    loop = Loop()

    loop.turns.receive(Client(loop, "a"), b"hello")

    assert loop.handled == []
    loop.run(within_s=0)
    assert loop.handled == [("a", b"hello")]


def test_bytes_of_a_client_that_waits_stay_in_order() -> None:
    loop = Loop()
    first, second = Client(loop, "a"), Client(loop, "b")

    loop.turns.receive(first, b"1")
    loop.turns.receive(second, b"2")
    loop.turns.receive(first, b"3")
    loop.run()
    loop.turns.receive(first, b"4")
    loop.run()

    assert loop.handled == [("a", b"13"), ("b", b"2"), ("a", b"4")]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"address": "10.0.0.2"}, id="another address"),
        pytest.param({"listener": VOTERS}, id="another listener"),
    ],
)
@pytest.mark.rule("AUTH-10")
def test_client_does_not_wait_for_all_clients_of_another_address_or_listener(other: dict[str, str]) -> None:
    loop = Loop()
    for number in range(100):
        loop.turns.receive(Client(loop, f"many-{number}"), b"hello")

    loop.turns.receive(Client(loop, "one", **other), b"hello")  # type: ignore[arg-type]
    loop.run()

    assert names(loop.handled)[:3] == ["many-0", "one", "many-1"]
    assert len(loop.handled) == 101


def test_client_that_has_begun_does_not_wait_for_all_that_have_not() -> None:
    loop = Loop()
    one = Client(loop, "one")
    loop.turns.receive(one, b"hello")
    loop.run()
    for number in range(100):
        loop.turns.receive(Client(loop, f"many-{number}"), b"hello")

    loop.turns.receive(one, b"finished")
    loop.run()

    assert names(loop.handled)[1:4] == ["many-0", "one", "many-1"]


@pytest.mark.rule("AUTH-10")
def test_clients_take_a_quarter_of_the_time_once_they_have_used_their_credit() -> None:
    loop = Loop()
    clients = [Client(loop, f"{number}") for number in range(10_000)]
    begun_s = loop.now_s + CREDIT_S
    loop.now_s = begun_s

    for client in clients:
        loop.turns.receive(client, b"hello")
    loop.run(within_s=CREDIT_S)
    in_the_beginning = len(loop.handled)
    loop.run(within_s=10)

    assert in_the_beginning * HANDSHAKE_S == pytest.approx(2 * CREDIT_S * SHARE, rel=0.1)
    assert (len(loop.handled) - in_the_beginning) * HANDSHAKE_S == pytest.approx(10 * SHARE, rel=0.01)


def test_client_that_has_closed_its_connection_takes_no_turn() -> None:
    loop = Loop()
    gone, dropped, last = (Client(loop, name) for name in ("gone", "dropped", "last"))
    for client in (gone, dropped, last):
        loop.turns.receive(client, b"hello")

    loop.turns.forget(gone)
    dropped.is_closing = True
    loop.run()

    assert names(loop.handled) == ["last"]


@pytest.mark.rule("AUTH-10")
def test_client_that_waits_holds_no_more_than_one_request() -> None:
    loop = Loop()
    client = Client(loop, "a")

    for size_bytes in (MAX_REQUEST_BYTES - 1, 1, 1):
        loop.turns.receive(client, bytes(size_bytes))
    loop.run()

    assert loop.handled == [("a", b"dropped: sent more than 65536 bytes before it was known")]


def test_clients_that_come_one_by_one_never_wait() -> None:
    loop = Loop()

    for number in range(1_000):
        loop.now_s += 2 * HANDSHAKE_S / SHARE
        loop.turns.receive(Client(loop, f"{number}"), b"hello")
        loop.run(within_s=0)

    assert names(loop.handled) == [f"{number}" for number in range(1_000)]


def test_client_waits_for_its_turns_until_it_is_known(tmp_path: Path) -> None:
    async def play() -> list[int]:
        loop, responses = Loop(), []
        connection = GuardedConnection(Keys(tmp_path), turns=loop.turns)
        connection.send(ApiVersionsRequest(), 3)
        responses.append(len(connection.socket.frames()))
        loop.run()
        responses.append(len(connection.socket.frames()))
        connection.inbound.is_established = True
        connection.send(ApiVersionsRequest(), 3)
        return [*responses, len(connection.socket.frames())]

    assert asyncio.run(play()) == [0, 1, 2]
