"""Each fault affects the connections that it names, and no others."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Collection, Iterator

import pytest

from raft.types import Endpoint
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.hang import HANG_S
from tests.network.connection import Direction
from tests.network.network import CLIENTS, Network
from tests.node.harness.properties import HOST

_RESPONSE = b"!"
_SHORT_S = 0.2
_NAMES = {CLIENTS: "some-client", 1: "raft-client-1", 2: "raft-client-2"}


class Node(socketserver.ThreadingTCPServer):
    """Sends a response to each request, and notes when a connection has ended."""

    daemon_threads = True

    def __init__(self) -> None:
        self.received = b""
        self.has_lost_connection = threading.Event()
        super().__init__((HOST, 0), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        node = self.server
        assert isinstance(node, Node)
        try:
            while size := self.rfile.read(4):
                node.received += self.rfile.read(int.from_bytes(size, "big"))
                self.wfile.write(_RESPONSE)
        except ConnectionError:
            pass
        node.has_lost_connection.set()


class Caller:
    """A connection of another node or a client to node 1."""

    def __init__(self, network: Network, party: int, endpoint: Endpoint | None = None) -> None:
        endpoint = endpoint or network.endpoint(1)
        self._name = _NAMES[party]
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout=HANG_S)

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def port(self) -> int:
        """The port of its socket."""
        return int(self._socket.getsockname()[1])

    def ask(self) -> None:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        self._socket.sendall(encode_request(request, 4, correlation_id=0, client_id=self._name))

    def end(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def has_response(self, *, within_s: float = HANG_S) -> bool:
        """Whether a response comes, and not the end of the connection.

        Raises:
            ConnectionResetError: the connection was reset.
        """
        self._socket.settimeout(within_s)
        try:
            return self._socket.recv(1) == _RESPONSE
        except TimeoutError:
            return False


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
def network(node: Node) -> Iterator[Network]:
    """Proxies of node 1, and of node 2, which does not run."""
    with Network() as network:
        network.open(1, Endpoint(HOST, node.socket.getsockname()[1]))
        network.open(2, Endpoint(HOST, 1))
        yield network


def used_connection(network: Network, party: int) -> Caller:
    """Return a connection on which a response was received."""
    caller = Caller(network, party)
    caller.ask()
    assert caller.has_response()
    return caller


@pytest.mark.parametrize("party", [CLIENTS, 2])
def test_network_carries_bytes_and_the_end_both_ways(network: Network, node: Node, party: int) -> None:
    with used_connection(network, party) as caller:
        caller.end()

        assert not caller.has_response(), "the end of the connection"
    assert node.has_lost_connection.wait(HANG_S)
    assert _NAMES[party].encode() in node.received


def test_network_ends_a_connection_to_a_node_that_does_not_run(network: Network) -> None:
    endpoint = network.endpoint(2)
    with socket.create_connection((endpoint.host, endpoint.port), timeout=HANG_S) as caller:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        caller.sendall(encode_request(request, 4, correlation_id=0, client_id="some-client"))

        assert caller.recv(1) == b""


def test_caller_is_found_by_its_port_if_its_bytes_do_not_show_it(network: Network, node: Node) -> None:
    ports: list[tuple[int, int]] = []

    def caller_of(port: int, other_port: int) -> int:
        ports.append((port, other_port))
        return 2

    endpoint = network.open(1, Endpoint(HOST, node.socket.getsockname()[1]), caller_of=caller_of)
    network.cut({(2, 1)})
    with Caller(network, CLIENTS, endpoint) as caller:
        caller.ask()
        is_held = not caller.has_response(within_s=0.1)
        network.heal({(2, 1)}, delivers_late=True)

        assert is_held
        assert caller.has_response()
        assert ports == [(caller.port, endpoint.port)]


@pytest.mark.parametrize("is_new", [pytest.param(True, id="new"), pytest.param(False, id="old")])
@pytest.mark.parametrize(
    ("directions", "arrives"),
    [
        pytest.param([(2, 1)], False, id="requests"),
        pytest.param([(1, 2)], True, id="responses"),
        pytest.param([(1, 2), (2, 1)], False, id="both"),
    ],
)
def test_cut_holds_back_bytes_until_it_is_healed(
    network: Network, node: Node, directions: list[Direction], arrives: bool, is_new: bool
) -> None:
    with Caller(network, 2) if is_new else used_connection(network, 2) as caller:
        before = node.received
        network.cut(directions)
        caller.ask()

        assert not caller.has_response(within_s=_SHORT_S)
        assert (node.received != before) is arrives
        network.heal(directions, delivers_late=True)
        assert caller.has_response()
        assert node.received != before


def test_cut_holds_back_the_end_of_a_connection(network: Network, node: Node) -> None:
    with used_connection(network, 2) as caller:
        network.cut([(2, 1)])
        caller.end()

        assert not node.has_lost_connection.wait(_SHORT_S)
        network.heal([(2, 1)], delivers_late=True)
        assert node.has_lost_connection.wait(HANG_S)


def test_connections_that_wait_are_reset_when_a_cut_is_healed_without_delivery(network: Network, node: Node) -> None:
    with used_connection(network, 2) as waiting, used_connection(network, 2) as idle:
        before = node.received
        network.cut([(2, 1)])
        waiting.ask()
        assert not waiting.has_response(within_s=_SHORT_S)

        network.heal([(2, 1)], delivers_late=False)

        with pytest.raises(ConnectionResetError):
            waiting.has_response()
        assert node.received == before
        idle.ask()
        assert idle.has_response()


@pytest.mark.parametrize(
    ("party", "directions"),
    [
        pytest.param(CLIENTS, [(2, 1), (1, 2)], id="a client"),
        pytest.param(2, [(CLIENTS, 1), (1, CLIENTS)], id="a node, while clients are held back"),
    ],
)
def test_cut_does_not_affect_other_parties(network: Network, party: int, directions: list[Direction]) -> None:
    with used_connection(network, party) as caller:
        network.cut(directions)

        caller.ask()

        assert caller.has_response()


@pytest.mark.parametrize(
    ("parties", "is_reset"), [pytest.param({1, 2}, True, id="its own"), pytest.param({1, CLIENTS}, False, id="others")]
)
def test_reset_breaks_connections_on_both_sides(
    network: Network, node: Node, parties: Collection[int], is_reset: bool
) -> None:
    with used_connection(network, 2) as caller:
        network.reset(parties)

        if is_reset:
            with pytest.raises(ConnectionResetError):
                caller.has_response()
            assert node.has_lost_connection.wait(HANG_S)
        else:
            caller.ask()
            assert caller.has_response()


def test_refusal_resets_old_and_new_connections_until_it_is_healed(network: Network) -> None:
    with used_connection(network, 2) as old, used_connection(network, CLIENTS) as client:
        network.refuse([(2, 1)])

        with pytest.raises(ConnectionResetError):
            old.has_response()
        with Caller(network, 2) as new:
            new.ask()
            with pytest.raises(ConnectionResetError):
                new.has_response()
        client.ask()
        assert client.has_response(), "another party"
        network.heal([(2, 1)], delivers_late=True)
        with used_connection(network, 2):
            pass


def test_half_open_connection_is_closed_for_the_node_and_not_for_the_caller(network: Network, node: Node) -> None:
    with used_connection(network, 2) as caller:
        before = node.received
        network.half_open({1, 2})

        assert node.has_lost_connection.wait(HANG_S)
        caller.ask()
        assert not caller.has_response(within_s=_SHORT_S)
        assert node.received == before
        with used_connection(network, 2):
            assert node.received != before, "a new connection works"
