"""The client's side of SASL: what it sends, and whose proof it accepts."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator

import pytest

from raft.config.secret import Secret
from raft.config.security import SaslSettings, login_module
from raft.errors import AuthenticationError, ConfigError
from raft.security.credentials import MOST_ITERATIONS, SCRAM_MECHANISMS
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator, authenticators
from tests.security.scram import RFC_7677, Proof

PASSWORD = "planted-secret"
SALT = b64encode(bytes(16)).decode()
NONCE = "clientnonce"
NODE_FIRST = f"r={NONCE}nodenonce,s={SALT},i=4096"

each_mechanism = pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)


def begun(mechanism: str = "SCRAM-SHA-256", name: str = "alice") -> ScramAuthenticator:
    """A proof whose first message is sent."""
    authenticator = ScramAuthenticator(mechanism, name, PASSWORD, nonce=NONCE)
    authenticator.respond(b"")
    return authenticator


def proved(mechanism: str = "SCRAM-SHA-256") -> tuple[ScramAuthenticator, str]:
    """A proof of which the node's part is missing, and that part."""
    authenticator = begun(mechanism)
    authenticator.respond(NODE_FIRST.encode())
    return authenticator, Proof.of(mechanism, PASSWORD, f"n,,n=alice,r={NONCE}", NODE_FIRST).node_final


def refused(authenticator: ScramAuthenticator, challenge: str | bytes) -> str:
    with pytest.raises(AuthenticationError) as error:
        authenticator.respond(challenge if isinstance(challenge, bytes) else challenge.encode())
    assert not authenticator.is_complete
    return str(error.value)


@pytest.mark.rule("AUTH-8")
def test_client_sends_the_messages_of_the_rfc() -> None:
    client = ScramAuthenticator("SCRAM-SHA-256", RFC_7677.user, RFC_7677.password, nonce=RFC_7677.client_nonce)

    assert client.respond(b"") == RFC_7677.client_first.encode()
    assert client.respond(RFC_7677.node_first.encode()) == RFC_7677.client_final.encode()
    assert not client.is_complete
    assert client.respond(RFC_7677.node_final.encode()) is None
    assert client.is_complete


@each_mechanism
@pytest.mark.rule("AUTH-8")
def test_client_accepts_the_proof_of_a_node_that_knows_it(mechanism: str) -> None:
    authenticator, node_final = proved(mechanism)

    assert authenticator.respond(node_final.encode()) is None
    assert authenticator.is_complete
    assert authenticator.mechanism == mechanism


def test_client_escapes_its_name() -> None:
    authenticator = ScramAuthenticator("SCRAM-SHA-256", "a,b=c", PASSWORD, nonce=NONCE)

    assert authenticator.respond(b"") == f"n,,n=a=2Cb=3Dc,r={NONCE}".encode()


def test_client_draws_a_nonce_for_each_proof() -> None:
    first = [ScramAuthenticator("SCRAM-SHA-256", "alice", PASSWORD).respond(b"") for _ in range(3)]

    assert len(set(first)) == 3


@pytest.mark.parametrize(
    "challenge",
    [
        pytest.param(NODE_FIRST.replace(NONCE, "other"), id="another nonce of the client"),
        pytest.param(NODE_FIRST.replace("nodenonce", ""), id="no nonce of the node"),
        pytest.param(NODE_FIRST.replace("i=4096", "i=4095"), id="few iterations"),
        pytest.param(NODE_FIRST.replace("i=4096", "i=1"), id="one iteration"),
        pytest.param(NODE_FIRST.replace("i=4096", "i=0"), id="no iteration"),
        pytest.param(NODE_FIRST.replace("i=4096", "i=-4096"), id="negative iterations"),
        pytest.param(NODE_FIRST.replace("i=4096", "i=04096"), id="a leading zero"),
        pytest.param(NODE_FIRST.replace("i=4096", "i=٤٠٩٦"), id="other digits"),
        pytest.param(NODE_FIRST.replace("i=4096", "i="), id="an empty number"),
        pytest.param(NODE_FIRST.replace(SALT, "AAAA"), id="a short salt"),
        pytest.param(NODE_FIRST.replace(SALT, "???"), id="a salt that is no base64"),
        pytest.param(NODE_FIRST.replace("s=", "x="), id="no salt"),
        pytest.param(f"m=x,{NODE_FIRST}", id="a mandatory extension"),
        pytest.param("e=unknown-user", id="an error"),
        pytest.param("e=planted", id="an unknown error"),
        pytest.param("v=AAAA", id="the last message"),
        pytest.param("", id="empty"),
        pytest.param(b"\xff", id="no UTF-8"),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_client_refuses_a_first_message_of_the_node(challenge: str | bytes) -> None:
    reason = refused(begun(), challenge)

    assert reason == "received a wrong message of SCRAM-SHA-256: the node may not know this user's password"


@pytest.mark.parametrize(
    "iterations",
    [
        pytest.param(str(MOST_ITERATIONS + 1), id="one more than the most"),
        pytest.param("9999999", id="nearly as many as the library accepts"),
        pytest.param("10000001", id="more than the library accepts"),
        pytest.param(str(1 << 31), id="2^31"),
        pytest.param("9" * 4000, id="4000 digits"),
        pytest.param("9" * 5000, id="5000 digits, more than Python reads"),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_client_does_not_compute_as_many_iterations_as_a_node_likes(iterations: str) -> None:
    """2^31 of them take half an hour, and the node has not proved anything yet."""
    client = begun()
    began = time.process_time()

    reason = refused(client, NODE_FIRST.replace("4096", iterations))

    assert time.process_time() - began < 0.1
    assert "SCRAM-SHA-256" in reason


def test_most_iterations_are_those_of_the_command() -> None:
    client = begun()

    client.respond(NODE_FIRST.replace("4096", str(MOST_ITERATIONS)).encode())

    assert not client.is_complete


@pytest.mark.parametrize(
    "challenge",
    [
        pytest.param("v=AAAA", id="a short proof"),
        pytest.param(f"v={'A' * 43}=", id="a wrong proof"),
        pytest.param("e=other-error", id="an error"),
        pytest.param(NODE_FIRST, id="the first message again"),
        pytest.param("", id="empty"),
        pytest.param(b"\xff", id="no UTF-8"),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_client_refuses_a_node_that_does_not_prove_that_it_knows_the_password(challenge: str | bytes) -> None:
    authenticator, _ = proved()

    assert refused(authenticator, challenge).endswith("the node may not know this user's password")


def cut_and_damaged(message: str) -> Iterator[bytes]:
    """Yield a message cut at every length, and damaged at every place."""
    for position in range(len(message)):
        yield message[:position].encode()
        damaged = bytearray(message.encode())
        damaged[position] ^= 0x80
        yield bytes(damaged)


def test_proof_of_the_node_may_not_be_cut_or_damaged() -> None:
    _, node_final = proved()
    for challenge in cut_and_damaged(node_final):
        refused(proved()[0], challenge)


def test_first_message_of_the_node_leads_to_another_proof_if_it_is_cut_or_damaged() -> None:
    """So the node refuses it: all that both sides have sent is a part of the proof."""
    right = begun().respond(NODE_FIRST.encode())
    for challenge in cut_and_damaged(NODE_FIRST):
        authenticator = begun()
        try:
            assert authenticator.respond(challenge) != right
        except AuthenticationError:
            continue


def test_client_refuses_messages_after_the_last_one() -> None:
    authenticator, node_final = proved()
    authenticator.respond(node_final.encode())

    with pytest.raises(AuthenticationError, match=r"^received more messages of SCRAM-SHA-256 than it has$"):
        authenticator.respond(b"")


@each_mechanism
@pytest.mark.parametrize(
    ("name", "password"),
    [
        pytest.param("alice\x07", PASSWORD, id="name"),
        pytest.param("\N{SOFT HYPHEN}", PASSWORD, id="name of which nothing is left"),
        pytest.param("alice", f"{PASSWORD}\x07", id="password"),
        pytest.param("alice", f"{PASSWORD}\udcff", id="password that is not of Unicode"),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_characters_that_scram_does_not_allow_are_refused(mechanism: str, name: str, password: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ScramAuthenticator(mechanism, name, password)

    assert str(refused.value) == (
        f"the user name or the password for {mechanism} has characters that SCRAM does not allow (RFC 4013)"
    )


def test_client_sends_name_and_password_with_plain() -> None:
    authenticator = PlainAuthenticator("alice", "pä")

    assert authenticator.respond(b"") == "\0alice\0pä".encode()
    assert not authenticator.is_complete
    assert authenticator.respond(b"") is None
    assert authenticator.is_complete


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM_MECHANISMS])
def test_each_connection_has_a_proof_of_its_own(mechanism: str) -> None:
    settings = SaslSettings(mechanism=mechanism, jaas=Secret("not resolved"))
    make = authenticators(settings, f'{login_module(mechanism)} required username="alice" password="p";')

    one, other = make(), make()

    assert one is not other
    assert one.mechanism == other.mechanism == mechanism
    assert (one.respond(b"") == other.respond(b"")) is (mechanism == "PLAIN")


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        pytest.param("PLAIN", 'username="a"', "the entry of sasl.jaas.config has no password: ", id="no password"),
        pytest.param("SCRAM-SHA-256", 'password="p"', "the entry of sasl.jaas.config has no username: ", id="no name"),
        pytest.param(
            "SCRAM-SHA-512", 'username="a\\7" password="p"', "the user name or the password for SCRAM-SHA-512", id="7"
        ),
        pytest.param("PLAIN", f'username="a" password="{PASSWORD}\ud800"', "the entry of sasl.jaas", id="surrogate"),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_entry_that_cannot_be_used_is_refused_before_the_first_connection(
    mechanism: str, options: str, message: str
) -> None:
    settings = SaslSettings(mechanism=mechanism, jaas=Secret("not resolved"))

    with pytest.raises(ConfigError, match=f"^{message}") as refused:
        authenticators(settings, f"{login_module(mechanism)} required {options};")

    assert PASSWORD not in str(refused.value)
