"""Ports for local voters."""

from __future__ import annotations

import socket
from collections import deque
from contextlib import closing
from itertools import pairwise

import pytest

from raft.errors import ConfigError
from raft.local import ports
from raft.local.ports import free_ports, is_free
from tests.node.harness.properties import HOST

OTHER_HOST = "127.0.0.2"


@pytest.fixture(autouse=True)
def _no_port_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_given", deque(maxlen=6))


def test_free_ports_differ_and_so_do_those_that_follow_them() -> None:
    found = sorted(free_ports(50, in_a_row=3))

    assert all(later - earlier >= 3 for earlier, later in pairwise(found))


def test_port_with_a_listener_is_not_free_and_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = free_ports(1, in_a_row=3)
    monkeypatch.setattr(ports, "_PORTS", range(first, first + 3))
    ports._given.clear()
    with closing(socket.create_server((HOST, first + 1))):
        assert not is_free(first + 1)
        assert sorted(free_ports(2)) == [first, first + 2]


def test_port_is_free_on_the_hosts_that_have_no_listener_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1, hosts={HOST, OTHER_HOST})
    monkeypatch.setattr(ports, "_PORTS", range(port, port + 1))
    ports._given.clear()
    with closing(socket.create_server((OTHER_HOST, port))):
        assert is_free(port)
        assert not is_free(port, host=OTHER_HOST)
        with pytest.raises(ConfigError, match=f"^fewer than 1 free ports on {HOST} and {OTHER_HOST} from {port} to "):
            free_ports(1, hosts={HOST, OTHER_HOST})


def test_ports_that_were_returned_are_not_returned_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = free_ports(1, in_a_row=8)
    monkeypatch.setattr(ports, "_PORTS", range(first, first + 8))
    ports._given.clear()
    earlier = {*free_ports(2, in_a_row=2), *free_ports(2)}

    assert earlier.isdisjoint(free_ports(2))


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        pytest.param("198.51.100.1", "expected an address of this machine", id="of another machine"),
        pytest.param("no-such-host.invalid", ".*; expected an address of this machine", id="unknown"),
    ],
)
def test_host_that_is_not_of_this_machine_is_refused(host: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"^cannot listen on {host}: {problem}$"):
        is_free(9093, host=host)


def test_too_few_free_ports_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = free_ports(1, in_a_row=2)
    monkeypatch.setattr(ports, "_PORTS", range(first, first + 2))

    with pytest.raises(ConfigError, match=f"^fewer than 3 free ports on {HOST} from {first} to {first + 1}; "):
        free_ports(3)
