"""The HTTP server is bounded: in connections, in time and in bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import pytest

from raft.errors import ConfigError
from raft.local.ports import free_ports
from raft.metrics.http_connections import LONGEST_S, MOST
from raft.metrics.http_server import MOST_REQUEST_BYTES, HttpServer
from raft.types import Endpoint
from tests.hang import HANG_S
from tests.metrics.http_client import ask
from tests.node.harness.waiting import eventually


class Served:
    """A server whose clock the test moves, and whose responses are of the size that the test chooses."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        (self.port,) = free_ports(1)
        self.now_s = 0.0
        self.body = b"served\n"
        self.requests = 0
        self.server = HttpServer(Endpoint(host, self.port, "HTTP"), self._serve, lambda: self.now_s)

    def _serve(self, _environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        self.requests += 1
        start_response("200 OK", [("Content-Length", str(len(self.body))), ("Content-Type", "text/plain")])
        return [self.body]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S)


@pytest.fixture
def served() -> Iterator[Served]:
    threads_before = threading.active_count()
    served = Served()
    served.server.open()
    yield served
    served.server.close()
    eventually(lambda: threading.active_count() <= threads_before, "all threads of the server have ended")


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1 << 16) == b""
    except ConnectionError:
        return True


def test_server_serves_one_request_of_a_connection(served: Served) -> None:
    assert ask(served.port, "/any").body == "served\n"


@pytest.mark.parametrize("host", ["localhost", ""], ids=["localhost", "all interfaces"])
def test_server_listens_on_every_address_of_its_host(host: str) -> None:
    served = Served(host)
    served.server.open()
    try:
        assert ask(served.port, "/any").status == 200
    finally:
        served.server.close()


def test_server_refuses_a_port_that_is_in_use(served: Served) -> None:
    second = HttpServer(Endpoint("127.0.0.1", served.port, "HTTP"), served._serve)

    with pytest.raises(
        ConfigError, match=rf"^metrics\.listeners: cannot listen on 127\.0\.0\.1:{served.port}: Address"
    ):
        second.open()


def test_server_refuses_a_host_that_is_not_of_this_machine() -> None:
    (port,) = free_ports(1)

    with pytest.raises(ConfigError, match=r"^metrics\.listeners: cannot listen on 192\.0\.2\.1:"):
        HttpServer(Endpoint("192.0.2.1", port, "HTTP"), lambda *_: []).open()


def test_silent_clients_do_not_keep_others_out(served: Served) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(closing(served.connect())) for _ in range(MOST)]
        eventually(lambda: len(served.server.connections) == MOST, "all of them are accepted")

        assert ask(served.port, "/any").body == "served\n"

        assert is_closed(silent[0]), "the oldest"


def test_client_that_sends_byte_after_byte_is_closed_when_its_time_is_over(served: Served) -> None:
    with closing(served.connect()) as slow:
        slow.sendall(b"GET /any HTTP/1.1\r\nHost: any\r\n")
        eventually(lambda: len(served.server.connections) == 1, "it is accepted")
        slow.sendall(b"x")

        served.now_s = LONGEST_S

        assert is_closed(slow)


def test_client_that_does_not_read_is_closed_when_its_time_is_over(served: Served) -> None:
    served.body = bytes(64 << 20)
    with closing(served.connect()) as slow:
        slow.sendall(b"GET /any HTTP/1.0\r\n\r\n")
        eventually(lambda: served.requests == 1, "it is served")

        served.now_s = LONGEST_S

        eventually(lambda: len(served.server.connections) == 0, "its thread has ended")


def test_request_is_read_up_to_its_limit(served: Served) -> None:
    with closing(served.connect()) as long:
        long.sendall(b"GET /any HTTP/1.0\r\n")
        with suppress(ConnectionError):  # The server closes the connection while the client sends.
            while not served.requests:
                long.sendall(b"X-Long: " + b"x" * 1000 + b"\r\n")

        eventually(lambda: is_closed(long), "the server closes it")
    assert served.requests == 1, "the rest of the request is not waited for"


@pytest.mark.parametrize(
    "sent", [b"\r\n\r\n", b"GET\r\n\r\n", bytes(range(256)), b"GET / HTTP/9.9\r\n\r\n", b"A" * (MOST_REQUEST_BYTES + 1)]
)
def test_nonsense_does_no_harm(served: Served, sent: bytes) -> None:
    with closing(served.connect()) as hostile:
        hostile.sendall(sent)
        with suppress(OSError):  # The server may have closed the connection already.
            hostile.shutdown(socket.SHUT_WR)
        while not is_closed(hostile):
            pass

    assert ask(served.port, "/any").body == "served\n"
