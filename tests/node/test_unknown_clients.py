"""Clients that are not known yet: they ask for memory or time, append, or try passwords."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from raft.errors import AuthenticationError
from raft.node.inbound import SILENT_S
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.appending import Appending
from tests.node.harness.batches import batch_of
from tests.node.harness.keys import SCRAM, password_of, proof
from tests.node.harness.requests import produce_request
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import BOTH, ENCRYPTED, LISTENERS, MUTUAL, OPEN, SecuredNodes, secured_nodes
from tests.node.harness.seen import seen
from tests.node.harness.target import appending as appending
from tests.node.harness.target import target as target
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

LOOK_AROUND_S = 5.5
WITH_TLS = [VOTERS, BOTH, MUTUAL, ENCRYPTED]
WITH_SASL = [VOTERS, BOTH, OPEN]
INVALID = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
INVALID_PLAIN = "Authentication failed: Invalid username or password"
WRONG = "wrong-secret"
_RECORD_BYTES = 1 << 14


def connected(target: SecuredNodes, listener: str) -> Wire:
    """A connection that has no name."""
    tls = target.keys.tls() if LISTENERS[listener].protocol.uses_tls else None
    return Wire(target.endpoint(listener), tls=tls)


def unknown_clients(target: SecuredNodes) -> int:
    """How many connections are open whose client has not proved its name."""
    connections = target.nodes.running[1].parts.connections
    return target.nodes.thread.look(lambda: sum(not each.is_established for each in connections._open))


def client_hello(announced_bytes: int, sent_bytes: int) -> bytes:
    """The first bytes of a ClientHello of a length, in records of TLS."""
    message = b"\x01" + announced_bytes.to_bytes(3, "big") + b"\x03\x03" + bytes(sent_bytes)
    parts = (message[at : at + _RECORD_BYTES] for at in range(0, len(message), _RECORD_BYTES))
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in parts)


def let_pass(target: SecuredNodes, seconds: float) -> None:
    """Put the clock of the node forward, and let it look at its connections."""
    target.nodes.thread.jump(seconds)
    target.nodes.thread.jump(LOOK_AROUND_S)


@pytest.mark.parametrize("listener", WITH_SASL)
@pytest.mark.rule("AUTH-4")
def test_append_before_authentication_ends_the_connection(
    target: SecuredNodes, listener: str, caplog: pytest.LogCaptureFixture
) -> None:
    line = "dropped a connection: it did not authenticate: ProduceRequest came before authentication"
    with (
        seen(lambda: target.authentications("failed_authentication", listener), caplog, line),
        connected(target, listener) as wire,
        pytest.raises(ConnectionError),
    ):
        wire.ask(produce_request(batch_of(b"intruder")), 9, ProduceResponse)


@pytest.mark.parametrize("listener", WITH_TLS)
@pytest.mark.rule("AUTH-10")
def test_handshake_that_announces_too_much_is_refused_at_once(
    target: SecuredNodes, listener: str, caplog: pytest.LogCaptureFixture
) -> None:
    line = "dropped a connection: the TLS handshake with the client failed: excessive message size"
    with (
        seen(lambda: target.authentications("failed_authentication", listener), caplog, line),
        Wire(target.endpoint(listener)) as wire,
    ):
        wire.send_bytes(client_hello(announced_bytes=(1 << 24) - 1, sent_bytes=1000))

        assert wire.is_closed_by_node()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(client_hello(60_000, 50_000), id="a part of a ClientHello"),
        pytest.param(b"\x16", id="one byte"),
        pytest.param(b"", id="nothing"),
    ],
)
@pytest.mark.parametrize("listener", WITH_TLS)
@pytest.mark.rule("AUTH-10")
def test_handshake_that_never_ends_is_dropped(
    target: SecuredNodes, listener: str, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    eventually(lambda: unknown_clients(target) == 0, "those of other tests are gone")
    line = f"dropped a connection: no TLS handshake within {SILENT_S:g} s"
    with seen(lambda: target.dropped("idle"), caplog, line), Wire(target.endpoint(listener)) as wire:
        wire.send_bytes(data)
        eventually(lambda: unknown_clients(target) == 1, "it is open")
        let_pass(target, SILENT_S - LOOK_AROUND_S - 2)
        is_open = wire.is_silent(for_s=0.02)
        let_pass(target, LOOK_AROUND_S)

        assert is_open
        assert wire.is_closed_by_node()


@pytest.mark.parametrize("user", ["alice", "nobody"])
@pytest.mark.parametrize(
    ("listener", "mechanism", "message"),
    [
        pytest.param(VOTERS, SCRAM, INVALID, id="SCRAM over TLS"),
        pytest.param(OPEN, SCRAM, INVALID, id="SCRAM"),
        pytest.param(BOTH, "PLAIN", INVALID_PLAIN, id="PLAIN over TLS"),
    ],
)
@pytest.mark.rule("AUTH-6", "AUTH-12")
def test_wrong_password_is_refused_without_saying_whether_the_user_exists(
    target: SecuredNodes, listener: str, mechanism: str, message: str, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    security = target.security(listener, user, mechanism, password=WRONG)
    with (
        seen(
            lambda: target.authentications("failed_authentication", listener),
            caplog,
            f"dropped a connection: it did not authenticate: {message}; address=127.0.0.1",
        ),
        target.client(listener, security) as client,
        pytest.raises(AuthenticationError, match=f"the node refused the credentials.*: {message}"),
    ):
        client.last_stable_offset()

    assert not [secret for secret in (WRONG, password_of("alice")) if secret in caplog.text]


def is_served(wire: Wire) -> bool:
    return wire.ask(MetadataRequest(topics=None), 9, MetadataResponse).error_code == 0


@pytest.mark.rule("AUTH-10")
def test_connections_of_unknown_clients_replace_each_other(
    tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> None:
    most = 10
    folder = tmp_path_factory.mktemp("small")
    with (
        secured_nodes(folder, overrides={"max.connections": str(most)}) as small,
        Appending(small.client(VOTERS, small.security(VOTERS))) as appending,
        connected(small, VOTERS) as known,
        ExitStack() as stack,
    ):
        known.prove(proof("bob"))
        connections = small.nodes.running[1].parts.connections
        places = most + 1
        unknown = [stack.enter_context(connected(small, OPEN)) for _ in range(places - len(connections))]
        eventually(lambda: len(connections) == places, "all are open")
        line = f"the node has more than max.connections={most}, and it was the oldest that had sent no request"

        with seen(lambda: small.dropped("max-connections"), caplog, line, times=20):
            for _ in range(20):
                unknown.append(stack.enter_context(connected(small, OPEN)))
                assert unknown.pop(0).is_closed_by_node(), "the oldest one"
                assert is_served(known)
        appending.wait_for_more()
        with connected(small, VOTERS) as newcomer:
            assert newcomer.prove(proof("bob")).error_code == 0
            assert is_served(newcomer)
            assert is_served(known)
