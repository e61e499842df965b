"""The node's side of PLAIN, with the messages of Kafka's PlainSaslServer."""

from __future__ import annotations

import pytest

from raft.errors import AuthenticationError
from raft.security.credentials import Credentials
from raft.security.sasl_server import PlainVerifier, Verifiers

PASSWORDS = {"alice": "planted-secret", "bob": "pä", "nobody": ""}

WRONG = "Authentication failed: Invalid username or password"
THREE = "Invalid SASL/PLAIN response: expected 3 tokens"


@pytest.mark.parametrize(
    ("token", "user"),
    [
        pytest.param("\0alice\0planted-secret", "alice", id="no authorization id"),
        pytest.param("alice\0alice\0planted-secret", "alice", id="the same authorization id"),
        pytest.param("\0bob\0pä", "bob", id="a password that is not ASCII"),
    ],
)
def test_right_password_is_accepted(token: str, user: str) -> None:
    verifier = PlainVerifier(PASSWORDS)

    assert verifier.respond(token.encode()) == b""
    assert verifier.user == user


@pytest.mark.parametrize(
    ("token", "message"),
    [
        pytest.param("\0alice\0wrong", WRONG, id="a wrong password"),
        pytest.param("\0alice\0planted-secre", WRONG, id="a shorter password"),
        pytest.param("\0alice\0planted-secret ", WRONG, id="a longer password"),
        pytest.param("\0Alice\0planted-secret", WRONG, id="a name in other letters"),
        pytest.param("\0alice\0pä", WRONG, id="the password of another user"),
        pytest.param("\0mallory\0planted-secret", WRONG, id="an unknown user"),
        pytest.param("\0nobody\0x", WRONG, id="a user without password"),
        pytest.param(
            "bob\0alice\0planted-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
            id="another authorization id",
        ),
        pytest.param("bob\0alice\0wrong", WRONG, id="another authorization id, and a wrong password"),
        pytest.param("\0\0planted-secret", "Authentication failed: username not specified", id="no name"),
        pytest.param("\0alice\0", "Authentication failed: password not specified", id="no password"),
        pytest.param("\0nobody\0", "Authentication failed: password not specified", id="an empty password"),
        pytest.param("", THREE, id="empty"),
        pytest.param("\0alice", THREE, id="two parts"),
        pytest.param("\0alice\0planted-secret\0", THREE, id="four parts"),
        pytest.param("n,,n=alice,r=nonce", THREE, id="a message of SCRAM"),
        pytest.param(b"\0alice\0\xff", THREE, id="no UTF-8"),
    ],
)
@pytest.mark.rule("AUTH-6", "AUTH-12")
def test_wrong_token_is_refused(token: str | bytes, message: str) -> None:
    verifier = PlainVerifier(PASSWORDS)

    with pytest.raises(AuthenticationError) as refused:
        verifier.respond(token if isinstance(token, bytes) else token.encode())

    assert str(refused.value) == message
    assert verifier.user is None


def test_token_may_not_be_cut_at_any_length() -> None:
    token = b"\0alice\0planted-secret"
    for length in range(len(token)):
        verifier = PlainVerifier(PASSWORDS)

        with pytest.raises(AuthenticationError):
            verifier.respond(token[:length])

        assert verifier.user is None, length


def test_listener_checks_passwords_with_plain() -> None:
    verifiers = Verifiers(("PLAIN",), passwords=lambda: PASSWORDS, credentials=Credentials, pepper=b"pepper")

    verifier = verifiers.begin("PLAIN", "nonce")
    verifier.respond(b"\0alice\0planted-secret")

    assert verifiers.mechanisms == ("PLAIN",)
    assert verifier.user == "alice"


def test_mechanism_that_the_listener_does_not_have_is_an_error_of_the_caller() -> None:
    verifiers = Verifiers(("SCRAM-SHA-256",), passwords=lambda: PASSWORDS, credentials=Credentials, pepper=b"pepper")

    with pytest.raises(AssertionError, match="the caller refuses others"):
        verifiers.begin("PLAIN", "nonce")
