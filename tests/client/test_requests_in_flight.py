"""A request that stays in flight when a driver stops waiting for it: its response can be awaited later, or given up."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from raft.client import AsyncClient, Client
from raft.client.blocking_connection import BlockingConnection
from raft.client.session import Deadline, Session
from raft.client.steps import Ask, Await, GiveUp, Operation, Pause, Reply
from raft.types import Endpoint
from raft.wire.frames import FrameReader, ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.metadata import MetadataRequest
from tests.client.driving import Drive, settings_of
from tests.client.table import metadata
from tests.hang import HANG_S
from tests.node.harness.peer import serving_all
from tests.node.harness.properties import HOST

LONG_MS = 60_000


class HeldNode:
    """A node that sends its responses when the test allows it: those to ApiVersions, and those to other requests."""

    def __init__(self, listening: socket.socket) -> None:
        self.endpoint = Endpoint(HOST, listening.getsockname()[1])
        self.may_say_hello = threading.Event()
        self.may_respond = threading.Event()
        self.asked: list[str] = []
        self._connections: list[socket.socket] = []
        self._listening = listening

    def serve(self) -> None:
        """Serve one connection after the other until `stop`."""
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._connections.append(connection)
            with connection, suppress(OSError):
                self._serve(connection)

    def stop(self) -> None:
        """Send all responses, and close all sockets."""
        self.may_say_hello.set()
        self.may_respond.set()
        for opened in (self._listening, *self._connections):
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)

    @property
    def connections(self) -> int:
        """How many were opened."""
        return len(self._connections)

    def _serve(self, connection: socket.socket) -> None:
        reader = FrameReader(1 << 20)
        while data := connection.recv(1 << 16):
            for frame in reader.receive(data):
                request = decode_request(frame)
                assert isinstance(request, ReceivedRequest)
                self.asked.append(type(request.message).__name__)
                is_hello = isinstance(request.message, ApiVersionsRequest)
                (self.may_say_hello if is_hello else self.may_respond).wait(HANG_S)
                response = serving_all() if is_hello else metadata()
                header = request.header
                connection.sendall(
                    encode_response(response, header.request_api_version, correlation_id=header.correlation_id)
                )


@contextmanager
def held_node() -> Iterator[HeldNode]:
    with socket.create_server((HOST, 0)) as listening:
        node = HeldNode(listening)
        thread = threading.Thread(target=node.serve)
        thread.start()
        try:
            yield node
        finally:
            node.stop()
            thread.join()


def ask(node: HeldNode, *, patience_ms: int | None = 50, timeout_ms: int = LONG_MS) -> Ask:
    return Ask(
        endpoint=node.endpoint, request=MetadataRequest(topics=None), timeout_ms=timeout_ms, patience_ms=patience_ms
    )


@pytest.mark.parametrize("says_hello", [True, False], ids=["asked", "versions not known yet"])
def test_response_that_is_late_is_awaited(drive: Drive, says_hello: bool) -> None:
    def ask_and_await(_session: Session, _deadline: Deadline) -> Operation[list[Reply]]:
        outcomes = [(yield ask(node))]
        outcomes += [(yield Await(endpoint=node.endpoint, patience_ms=50))]
        node.may_say_hello.set()
        node.may_respond.set()
        return [*outcomes, (yield Await(endpoint=node.endpoint, patience_ms=LONG_MS))]

    with held_node() as node:
        if says_hello:
            node.may_say_hello.set()
        outcomes = drive(settings_of(node.endpoint)).call(ask_and_await)

    assert [(outcome.is_pending, outcome.response, outcome.failure) for outcome in outcomes] == [
        (True, None, None),
        (True, None, None),
        (False, metadata(), None),
    ]
    assert node.asked == ["ApiVersionsRequest", "MetadataRequest"], "it was sent once"


def test_request_in_flight_still_times_out(drive: Drive) -> None:
    def ask_and_await(_session: Session, _deadline: Deadline) -> Operation[list[Reply]]:
        pending = yield ask(node, timeout_ms=200)
        return [pending, (yield Await(endpoint=node.endpoint, patience_ms=LONG_MS))]

    with held_node() as node:
        pending, ended = drive(settings_of(node.endpoint)).call(ask_and_await)

    assert pending.is_pending
    assert (ended.is_pending, ended.failure) == (False, "no response in time")


def test_request_given_up_closes_its_connection_and_the_next_one_opens_another(drive: Drive) -> None:
    def ask_twice(_session: Session, _deadline: Deadline) -> Operation[list[Reply]]:
        pending = yield ask(node)
        given_up = yield GiveUp(endpoint=node.endpoint)
        node.may_say_hello.set()
        node.may_respond.set()
        return [pending, given_up, (yield ask(node, patience_ms=None))]

    with held_node() as node:
        pending, given_up, second = drive(settings_of(node.endpoint)).call(ask_twice)

    assert pending.is_pending
    assert given_up == Reply(now_ms=given_up.now_ms)
    assert second.response == metadata()
    assert node.connections == 2


def test_request_in_flight_is_given_up_when_its_call_ends_in_an_error(drive: Drive) -> None:
    def ask_and_fail(_session: Session, _deadline: Deadline) -> Operation[None]:
        yield ask(node)
        raise ValueError("as when another node belongs to another cluster")

    def ask_again(_session: Session, _deadline: Deadline) -> Operation[Reply]:
        yield Pause(duration_ms=1)
        return (yield ask(node, patience_ms=None))

    with held_node() as node:
        driver = drive(settings_of(node.endpoint))
        with pytest.raises(ValueError, match="another cluster"):
            driver.call(ask_and_fail)
        node.may_say_hello.set()
        node.may_respond.set()

        assert driver.call(ask_again).response == metadata()

    assert node.connections == 2


def test_request_in_flight_is_given_up_when_its_task_is_cancelled() -> None:
    def ask_once(_session: Session, _deadline: Deadline) -> Operation[Reply]:
        return (yield ask(node, patience_ms=None))

    async def cancel_and_ask_again() -> Reply:
        async with AsyncClient(settings_of(node.endpoint)) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.call(ask_once)
            node.may_say_hello.set()
            node.may_respond.set()
            return await client.call(ask_once)

    with held_node() as node:
        outcome = asyncio.run(cancel_and_ask_again())

    assert outcome.response == metadata()
    assert node.connections == 2


def test_request_in_flight_is_given_up_when_its_thread_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_once(_session: Session, _deadline: Deadline) -> Operation[Reply]:
        return (yield ask(node, patience_ms=None))

    def interrupted(connection: BlockingConnection, until_ms: int) -> None:
        wait(connection, until_ms - LONG_MS + 50)
        raise KeyboardInterrupt

    wait = BlockingConnection.wait
    with held_node() as node, Client(settings_of(node.endpoint)) as client:
        with monkeypatch.context() as patch:
            patch.setattr(BlockingConnection, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.call(ask_once)
        node.may_say_hello.set()
        node.may_respond.set()
        outcome = client.call(ask_once)

    assert outcome.response == metadata()
    assert node.connections == 2
