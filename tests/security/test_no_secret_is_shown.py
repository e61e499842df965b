"""No text of an object, and no error, has the secret that was planted in it (AUTH-12)."""

from __future__ import annotations

import logging
import pprint
import traceback
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from raft.codec import decode, encode
from raft.config import NodeConfig, parse_overrides
from raft.config.listener_security import ListenerSecurity
from raft.config.secret import Secret
from raft.config.security import (
    ClientSecurity,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
    client_security,
    login_module,
)
from raft.errors import RaftError
from raft.security.client_protection import ClientProtection
from raft.security.credentials import Credentials, ScramCredential
from raft.security.jaas import JaasEntry
from raft.security.references import resolve
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator, authenticators
from raft.security.sasl_server import PlainVerifier, ScramVerifier, Verifiers
from raft.security.sasl_session import SaslSession, SaslStep
from raft.security.tls_contexts import TlsContexts
from raft.wire.apis import SASL_AUTHENTICATE
from raft.wire.connection import ClientConnection, ResponseReceived
from raft.wire.frames import decode_request, encode_request
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse
from raft.wire.sasl_exchange import SaslExchange
from tests.config.test_node import LEAST
from tests.security.certificates import key_pem

PLANTED = "planted-secret-\x41\x42"
KEY = PLANTED.encode().ljust(32, b"!")
FORMS = (
    PLANTED,
    repr(PLANTED.encode())[2:-1],
    PLANTED.encode().hex(),
    b64encode(KEY).decode()[:20],
    b64encode(PLANTED.encode()).decode()[:16],
)
"""A secret may be shown as text, as bytes, in hexadecimal, or in base64."""

JAAS = f'{login_module("PLAIN")} required username="alice" password="{PLANTED}" user_alice="{PLANTED}";'
CREDENTIAL = ScramCredential(salt=KEY, stored_key=KEY, server_key=KEY, iterations=4096)
CREDENTIALS = Credentials().with_user("alice", "SCRAM-SHA-256", CREDENTIAL)
SASL = SaslSettings(mechanism="PLAIN", jaas=Secret(JAAS))
TLS = TlsSettings(keystore="node.pem", key_password=Secret(PLANTED))
SECURITY = ClientSecurity(protocol=SecurityProtocol.SASL_SSL, tls=TLS, sasl=SASL)
REQUEST = SaslAuthenticateRequest(auth_bytes=f"\0alice\0{PLANTED}".encode())
RESPONSE = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=KEY, session_lifetime_ms=1)


def node_config() -> NodeConfig:
    return NodeConfig.from_properties(
        LEAST
        | {
            "listener.security.protocol.map": "CONTROLLER:SASL_SSL",
            "ssl.keystore.location": "node.pem",
            "ssl.key.password": PLANTED,
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": JAAS,
            "super.users": "User:admin",
        }
    )


def verifiers() -> Verifiers:
    return Verifiers(
        ("PLAIN", "SCRAM-SHA-256"),
        passwords=lambda: {"alice": PLANTED},
        credentials=lambda: CREDENTIALS,
        pepper=PLANTED.encode(),
    )


def proving() -> SaslSession:
    session = SaslSession(verifiers(), max_reauth_ms=0)
    session.begin("SCRAM-SHA-256", "nonce")
    session.take(b"n,,n=alice,r=clientnonce", 0)
    return session


OBJECTS: dict[str, Callable[[], object]] = {
    "Secret": lambda: Secret(PLANTED),
    "TlsSettings": lambda: TLS,
    "SaslSettings": lambda: SASL,
    "ClientSecurity": lambda: SECURITY,
    "ListenerSecurity": lambda: ListenerSecurity(tls=TLS, plain_jaas=Secret(JAAS)),
    "NodeConfig": node_config,
    "JaasEntry": lambda: JaasEntry.parse(JAAS, "PLAIN"),
    "ClientProtection": lambda: ClientProtection(SECURITY),
    "PlainAuthenticator": lambda: PlainAuthenticator("alice", PLANTED),
    "ScramAuthenticator": lambda: ScramAuthenticator("SCRAM-SHA-256", "alice", PLANTED),
    "authenticators": lambda: authenticators(SASL, JAAS),
    "ScramCredential": lambda: CREDENTIAL,
    "Credentials": lambda: CREDENTIALS,
    "PlainVerifier": lambda: PlainVerifier({"alice": PLANTED}),
    "ScramVerifier": lambda: ScramVerifier("SCRAM-SHA-256", lambda _name: CREDENTIAL, nonce="n"),
    "Verifiers": verifiers,
    "SaslSession": proving,
    "SaslStep": lambda: SaslStep(token=KEY),
    "SaslExchange": lambda: SaslExchange(PlainAuthenticator("alice", PLANTED)),
    "SaslAuthenticateRequest": lambda: REQUEST,
    "SaslAuthenticateResponse": lambda: RESPONSE,
    "ReceivedRequest": lambda: decode_request(encode_request(REQUEST, 2, correlation_id=1, client_id="me")[4:]),
    "ResponseReceived": lambda: ResponseReceived(tag="a", api=SASL_AUTHENTICATE, version=2, message=RESPONSE),
    "ClientConnection": lambda: ClientConnection(
        client_id="me", max_frame_bytes=1, protection=ClientProtection(ClientSecurity(sasl=SASL)).of_connection("h")
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.rule("AUTH-12")
def test_no_text_of_an_object_has_its_secret(name: str) -> None:
    made = OBJECTS[name]()

    record = logging.LogRecord("raft", logging.INFO, "", 0, "%s and %r", (made, made), None)
    texts = [repr(made), str(made), f"{made}", repr([made]), pprint.pformat(made), record.getMessage()]

    assert not [form for form in FORMS for text in texts if form in text]


def failing_proof(token: bytes) -> None:
    session = SaslSession(verifiers(), max_reauth_ms=0)
    session.begin("PLAIN", "nonce")
    session.take(token, 0)


def failing_scram(token: bytes) -> None:
    proving().take(token, 0)


def locked(folder: Path, password: str | None) -> None:
    """Read a key with another password than its own."""
    keystore = folder / "locked.pem"
    keystore.write_bytes(key_pem(PLANTED))
    given = None if password is None else Secret(password)
    TlsContexts(TlsSettings(keystore=str(keystore), key_password=given), None)


def refused_node(**changes: str) -> None:
    NodeConfig.from_properties(LEAST | {key.replace("__", "."): value for key, value in changes.items()})


SASL_SSL = {"security.protocol": "SASL_SSL", "sasl.jaas.config": JAAS}
WRONG = f"{PLANTED}-wrong"
JAAS_KEY = "listener__name__controller__plain__sasl__jaas__config"

ERRORS: dict[str, Callable[[Path], object]] = {
    "entry, malformed": lambda _: JaasEntry.parse(JAAS + "x", "PLAIN"),
    "entry, another mechanism": lambda _: JaasEntry.parse(JAAS, "SCRAM-SHA-256"),
    "entry, no name": lambda _: JaasEntry.parse(JAAS.replace("username", "user"), "PLAIN").own_credentials(),
    "client, no mechanism": lambda _: client_security(SASL_SSL),
    "client, PLAIN without TLS": lambda _: client_security(
        SASL_SSL | {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    ),
    "client, no effect": lambda _: client_security({"ssl.key.password": PLANTED, "sasl.jaas.config": JAAS}),
    "client, not supported": lambda _: client_security({"ssl.keystore.key": PLANTED}),
    "client, misspelled": lambda _: client_security({"security.protocol": "SSL", "ssl.key.passwort": PLANTED}),
    "node, no effect": lambda _: refused_node(**{JAAS_KEY: JAAS}),
    "node, not supported": lambda _: refused_node(sasl__jaas__config=JAAS),
    "override": lambda _: parse_overrides([f"ssl.key.password:{PLANTED}"]),
    "reference": lambda _: resolve(f'password="{PLANTED}${{env:KRAFT_MISSING}}"'),
    "key, wrong password": lambda folder: locked(folder, WRONG),
    "key, long password": lambda folder: locked(folder, PLANTED * 100),
    "key, password that is not of Unicode": lambda folder: locked(folder, f"{PLANTED}\udcff"),
    "password, characters": lambda _: ScramCredential.of_password(f"{PLANTED}\x07", "SCRAM-SHA-256", salt=bytes(16)),
    "password, iterations": lambda _: ScramCredential.of_password(
        PLANTED, "SCRAM-SHA-256", salt=bytes(16), iterations=1
    ),
    "credentials, malformed": lambda _: Credentials.parse(CREDENTIALS.to_text()[:-5]),
    "credentials, one malformed": lambda _: Credentials.parse(CREDENTIALS.to_text().replace("4096", "1")),
    "credentials, base64": lambda _: Credentials.parse(CREDENTIALS.to_text().replace("salt=", "salt=?")),
    "client of SCRAM": lambda _: ScramAuthenticator("SCRAM-SHA-256", "alice", f"{PLANTED}\x07"),
    "wrong message of the node": lambda _: _second_step(PLANTED.encode()),
    "message of the node that is no text": lambda _: _second_step(PLANTED.encode() + b"\xff"),
    "PLAIN, wrong password": lambda _: failing_proof(f"\0alice\0{WRONG}".encode()),
    "PLAIN, unknown user": lambda _: failing_proof(f"\0mallory\0{PLANTED}".encode()),
    "PLAIN, other id": lambda _: failing_proof(f"bob\0alice\0{PLANTED}".encode()),
    "PLAIN, two parts": lambda _: failing_proof(f"alice\0{PLANTED}".encode()),
    "PLAIN, no text": lambda _: failing_proof(f"\0alice\0{PLANTED}".encode() + b"\xff"),
    "SCRAM, wrong proof": lambda _: failing_scram(f"c=biws,r=clientnoncenonce,p={b64encode(KEY).decode()}".encode()),
    "SCRAM, malformed": lambda _: failing_scram(PLANTED.encode()),
    "SCRAM, no text": lambda _: failing_scram(PLANTED.encode() + b"\xff"),
    **{
        f"request of which {cut} bytes are missing": partial(
            lambda cut, _: decode(SaslAuthenticateRequest, 2, encode(REQUEST, 2)[:-cut]), cut
        )
        for cut in (1, 2, 10)
    },
}


def _second_step(challenge: bytes) -> None:
    client = ScramAuthenticator("SCRAM-SHA-256", "alice", PLANTED)
    client.respond(b"")
    client.respond(challenge)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.rule("AUTH-12")
def test_no_error_has_the_secret(name: str, tmp_path: Path) -> None:
    with pytest.raises(RaftError) as refused:
        ERRORS[name](tmp_path)

    error = refused.value
    # A traceback shows lines of this file, but no values; the causes show what libraries say.
    reason = traceback.TracebackException.from_exception(error, lookup_lines=False)
    texts = [str(error), repr(error), *_messages(reason)]
    assert not [form for form in FORMS for text in texts if form in text]


def _messages(reason: traceback.TracebackException | None) -> list[str]:
    """What an error and its causes say, as a log has it."""
    if reason is None:
        return []
    return [*reason.format_exception_only(), *_messages(reason.__cause__), *_messages(reason.__context__)]


@pytest.mark.rule("AUTH-12")
def test_planted_secret_is_found_where_it_is() -> None:
    """So the tests above prove something."""
    assert any(form in str({"password": PLANTED}) for form in FORMS)
    assert any(form in repr(REQUEST.auth_bytes) for form in FORMS)
    assert any(form in CREDENTIAL.to_text() for form in FORMS)
    assert any(form in KEY.hex() for form in FORMS)
