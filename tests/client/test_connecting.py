"""A TCP connection that is opened in several waits, to the first address that accepts."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from raft.client.connection_attempt import ConnectionAttempt
from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.hang import HANG_S
from tests.node.harness.properties import HOST


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that lets one connection wait to be accepted."""
    with socket.create_server((HOST, 0), backlog=0) as server:
        yield server


def addresses(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, int]) -> Endpoint:
    """An endpoint whose name has these addresses."""
    entries = [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: entries)
    return Endpoint("several.invalid", 9093)


def test_next_address_is_tried_when_one_refuses(monkeypatch: pytest.MonkeyPatch, listening: socket.socket) -> None:
    accepting = listening.getsockname()
    endpoint = addresses(monkeypatch, (HOST, free_ports(1)[0]), ("255.255.255.255", 1), accepting)

    with ConnectionAttempt(endpoint).wait(time.monotonic() + HANG_S) as opened:
        assert opened.getpeername() == accepting


def test_last_address_says_why_there_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = (HOST, free_ports(1)[0])
    endpoint = addresses(monkeypatch, refusing, refusing)

    with pytest.raises(ConnectionRefusedError):
        ConnectionAttempt(endpoint).wait(time.monotonic() + HANG_S)


def test_wait_that_ended_early_can_be_continued(listening: socket.socket) -> None:
    place = listening.getsockname()
    with socket.create_connection(place):
        connecting = ConnectionAttempt(Endpoint(*place))
        with pytest.raises(TimeoutError):
            connecting.wait(time.monotonic() + 0.05)
        listening.accept()[0].close()

        connecting.wait(time.monotonic() + HANG_S).close()


def test_connection_that_is_given_up_is_closed(listening: socket.socket) -> None:
    place = listening.getsockname()
    with socket.create_connection(place):
        connecting = ConnectionAttempt(Endpoint(*place))
        with pytest.raises(TimeoutError):
            connecting.wait(time.monotonic() + 0.05)

        connecting.close()
        connecting.close()
