"""Passwords that are tried, and messages of SCRAM that are replayed or end early."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from raft.errors import AuthenticationError, ErrorCode
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.protection import Authenticator
from tests.node.attacks.seen import seen
from tests.node.harness.keys import SCRAM, password_of, proof
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import BOTH, OPEN, SecuredNodes, secured_nodes
from tests.node.harness.wire import Wire

INVALID = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
INVALID_PLAIN = "Authentication failed: Invalid username or password"
WRONG = "wrong-secret"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    """A node with all listeners, which answers wrong proofs soon."""
    delay = {"connection.failed.authentication.delay.ms": "5"}
    with secured_nodes(tmp_path_factory.mktemp("target"), overrides=delay) as node:
        yield node


class RecordedProof:
    """A proof that keeps the messages of the client."""

    def __init__(self, of: Authenticator) -> None:
        self._of = of
        self.mechanism = of.mechanism
        self.messages: list[bytes] = []

    @property
    def is_complete(self) -> bool:
        """See `Authenticator.is_complete`."""
        return self._of.is_complete

    def respond(self, challenge: bytes) -> bytes | None:
        """See `Authenticator.respond`."""
        message = self._of.respond(challenge)
        if message is not None:
            self.messages.append(message)
        return message


def recorded(target: SecuredNodes) -> list[bytes]:
    """The messages of a client that has proved its name."""
    good = RecordedProof(proof("alice"))
    with Wire(target.endpoint(OPEN)) as wire:
        assert wire.prove(good).error_code == 0
    assert good.is_complete
    return good.messages


def send(wire: Wire, token: bytes) -> SaslAuthenticateResponse:
    return wire.ask(SaslAuthenticateRequest(auth_bytes=token), 2, SaslAuthenticateResponse)


def begin(wire: Wire) -> None:
    assert wire.ask(SaslHandshakeRequest(mechanism=SCRAM), 1, SaslHandshakeResponse).error_code == 0


def is_refused(wire: Wire, response: SaslAuthenticateResponse) -> bool:
    is_wrong = (response.error_code, response.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, INVALID)
    return is_wrong and response.auth_bytes == b"" and wire.is_closed_by_node()


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


@pytest.mark.rule("AUTH-8")
def test_replayed_messages_of_scram_prove_nothing(target: SecuredNodes, caplog: pytest.LogCaptureFixture) -> None:
    first, final = recorded(target)

    with (
        seen(lambda: target.authentications("failed_authentication", OPEN), caplog, INVALID),
        Wire(target.endpoint(OPEN)) as wire,
    ):
        begin(wire)
        assert send(wire, first).error_code == 0
        assert is_refused(wire, send(wire, final))


@pytest.mark.rule("AUTH-8")
def test_final_message_alone_proves_nothing(target: SecuredNodes, caplog: pytest.LogCaptureFixture) -> None:
    _, final = recorded(target)

    with (
        seen(lambda: target.authentications("failed_authentication", OPEN), caplog, INVALID),
        Wire(target.endpoint(OPEN)) as wire,
    ):
        begin(wire)
        assert is_refused(wire, send(wire, final))


@pytest.mark.rule("AUTH-8")
def test_first_message_that_ends_early_is_refused_at_every_length(
    target: SecuredNodes, caplog: pytest.LogCaptureFixture
) -> None:
    first, _ = recorded(target)
    without_nonce = first[: first.index(b",r=") + len(b",r=")]

    lengths = range(len(without_nonce) + 1)
    with seen(lambda: target.authentications("failed_authentication", OPEN), caplog, INVALID, times=len(lengths)):
        for length in lengths:
            with Wire(target.endpoint(OPEN)) as wire:
                begin(wire)
                assert is_refused(wire, send(wire, first[:length])), f"{length} bytes"


@pytest.mark.rule("AUTH-8")
def test_final_message_that_ends_early_is_refused_at_every_length(
    target: SecuredNodes, caplog: pytest.LogCaptureFixture
) -> None:
    _, final = recorded(target)

    with seen(lambda: target.authentications("failed_authentication", OPEN), caplog, INVALID, times=len(final)):
        for length in range(len(final)):
            mine = proof("alice")
            with Wire(target.endpoint(OPEN)) as wire:
                begin(wire)
                challenge = send(wire, mine.respond(b"") or b"")
                whole = mine.respond(challenge.auth_bytes) or b""
                assert is_refused(wire, send(wire, whole[:length])), f"{length} bytes"


def test_response_of_the_node_that_ends_early_ends_the_connection_of_the_client(target: SecuredNodes) -> None:
    for length in (0, 1, 10, 40):
        mine = proof("alice")
        with Wire(target.endpoint(OPEN)) as wire:
            begin(wire)
            challenge = send(wire, mine.respond(b"") or b"")
            with pytest.raises(AuthenticationError, match="received a wrong message of SCRAM-SHA-512"):
                mine.respond(challenge.auth_bytes[:length])
