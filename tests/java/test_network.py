"""The network between nodes: what a cut lets through, and what not."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from queue import Queue

import pytest

from raft.types import Endpoint, NodeId
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.java.network import Cut, Network

ONE, TWO = NodeId(1), NodeId(2)

_ANSWER = b"answer"
_SHORT_S = 0.3
_LONG_S = 10

_WHAT_A_CUT_HOLDS = pytest.mark.parametrize(
    ("cut_off", "how", "request_arrives"),
    [
        pytest.param(ONE, Cut.SILENT, False, id="the node asked hears and says nothing"),
        pytest.param(TWO, Cut.SILENT, False, id="the node that asks hears and says nothing"),
        pytest.param(ONE, Cut.DEAF, False, id="the node asked hears nothing"),
        pytest.param(TWO, Cut.DEAF, True, id="the node that asks hears nothing"),
        pytest.param(ONE, Cut.MUTE, True, id="the node asked says nothing"),
        pytest.param(TWO, Cut.MUTE, False, id="the node that asks says nothing"),
    ],
)


class Node(socketserver.ThreadingTCPServer):
    """Notes what it is asked, and answers."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: Queue[bytes] = Queue()
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Node)
        try:
            while size := self.rfile.read(4):
                self.server.asked.put(size + self.rfile.read(int.from_bytes(size, "big")))
                self.wfile.write(_ANSWER)
        except ConnectionError:
            pass


class Asker:
    """A connection to node 1, from node 2 or from a client."""

    def __init__(self, front: Endpoint, client_id: str = "raft-client-2") -> None:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        self.request = encode_request(request, 4, correlation_id=7, client_id=client_id)
        self._socket = socket.create_connection((front.host, front.port), timeout=_LONG_S)

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self) -> None:
        self._socket.sendall(self.request)

    def end(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def answer(self, *, within_s: float = _LONG_S) -> bytes | None:
        """What is answered by then; None for nothing."""
        self._socket.settimeout(within_s)
        try:
            return self._socket.recv(len(_ANSWER))
        except TimeoutError:
            return None


@pytest.fixture
def node() -> Iterator[Node]:
    """Node 1."""
    with Node() as node:
        thread = threading.Thread(target=node.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield node
        node.shutdown()
        thread.join()


@pytest.fixture
def network() -> Iterator[Network]:
    with Network() as network:
        yield network


@pytest.fixture
def front(network: Network, node: Node) -> Endpoint:
    """Where node 1 is reached; node 2 has a front too, but nobody asks it anything."""
    network.front(TWO, Endpoint("127.0.0.1", 1))
    return network.front(ONE, Endpoint("127.0.0.1", node.socket.getsockname()[1]))


def test_network_carries_requests_and_answers_while_it_is_whole(front: Endpoint, node: Node) -> None:
    with Asker(front) as asker:
        asker.ask()

        assert asker.answer() == _ANSWER
        assert node.asked.get_nowait() == asker.request


@_WHAT_A_CUT_HOLDS
def test_network_holds_requests_or_answers_of_an_old_connection_until_the_cut_is_healed(
    network: Network, front: Endpoint, node: Node, cut_off: NodeId, how: Cut, request_arrives: bool
) -> None:
    with Asker(front) as asker:
        asker.ask()
        assert asker.answer() == _ANSWER
        node.asked.get_nowait()

        network.isolate(cut_off, how)
        asker.ask()

        assert asker.answer(within_s=_SHORT_S) is None
        assert node.asked.qsize() == request_arrives
        network.heal()
        assert asker.answer() == _ANSWER
        assert node.asked.qsize() == 1


@_WHAT_A_CUT_HOLDS
def test_network_holds_requests_or_answers_of_a_new_connection_until_the_cut_is_healed(
    network: Network, front: Endpoint, node: Node, cut_off: NodeId, how: Cut, request_arrives: bool
) -> None:
    network.isolate(cut_off, how)

    with Asker(front) as asker:
        asker.ask()

        assert asker.answer(within_s=_SHORT_S) is None
        assert node.asked.qsize() == request_arrives
        network.heal()
        assert asker.answer() == _ANSWER


@pytest.mark.parametrize("cut_off", [ONE, TWO])
def test_network_resets_old_and_new_connections_until_the_cut_is_healed(
    network: Network, front: Endpoint, cut_off: NodeId
) -> None:
    with Asker(front) as old:
        old.ask()
        assert old.answer() == _ANSWER

        network.isolate(cut_off, Cut.RESET)

        with pytest.raises(ConnectionResetError):
            old.answer()
    with Asker(front) as new:
        new.ask()
        with pytest.raises(ConnectionResetError):
            new.answer()
    network.heal()
    with Asker(front) as newer:
        newer.ask()
        assert newer.answer() == _ANSWER


@pytest.mark.parametrize("how", list(Cut))
def test_network_never_cuts_off_a_client(network: Network, front: Endpoint, how: Cut) -> None:
    with Asker(front, "a client") as asker:
        asker.ask()
        assert asker.answer() == _ANSWER

        network.isolate(ONE, how)

        asker.ask()
        assert asker.answer() == _ANSWER


def test_network_ends_a_connection_when_one_side_does(front: Endpoint) -> None:
    with Asker(front) as asker:
        asker.ask()
        assert asker.answer() == _ANSWER

        asker.end()

        assert asker.answer() == b""
