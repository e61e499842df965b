"""The node's side of SASL on one connection: its states, the number of requests, and authentication again."""

from __future__ import annotations

import pytest

from raft.errors import AuthenticationError
from raft.security.credentials import Credentials, ScramCredential
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from raft.security.sasl_server import Verifiers
from raft.security.sasl_session import MAX_REQUESTS, SaslSession, SaslState, SaslStep
from raft.wire.protection import Authenticator

PASSWORDS = {"alice": "planted-secret", "bob": "another-secret"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
NOW_MS = 1_000

each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)


def _credentials() -> Credentials:
    credentials = Credentials()
    for name, password in PASSWORDS.items():
        made = ScramCredential.of_password(password, "SCRAM-SHA-256", salt=bytes(16), iterations=4096)
        credentials = credentials.with_user(name, "SCRAM-SHA-256", made)
    return credentials


CREDENTIALS = _credentials()


def session(max_reauth_ms: int = 0) -> SaslSession:
    verifiers = Verifiers(MECHANISMS, passwords=lambda: PASSWORDS, credentials=lambda: CREDENTIALS, pepper=b"pepper")
    return SaslSession(verifiers, max_reauth_ms=max_reauth_ms)


def authenticator(mechanism: str, name: str, password: str | None = None) -> Authenticator:
    given = PASSWORDS[name] if password is None else password
    return PlainAuthenticator(name, given) if mechanism == "PLAIN" else ScramAuthenticator(mechanism, name, given)


def prove(
    session: SaslSession,
    mechanism: str = "PLAIN",
    name: str = "alice",
    password: str | None = None,
    *,
    now_ms: int = NOW_MS,
) -> list[SaslStep]:
    """Prove a name; return what the node has answered."""
    client = authenticator(mechanism, name, password)
    session.begin(mechanism, f"nonce{now_ms}")
    steps: list[SaslStep] = []
    token = client.respond(b"")
    while token is not None:
        steps.append(session.take(token, now_ms))
        token = client.respond(steps[-1].token)
    return steps


@each_mechanism
def test_client_proves_its_name(mechanism: str) -> None:
    known = session()
    assert (known.state, known.user, known.mechanism) == (SaslState.NEW, None, "")

    steps = prove(known, mechanism)

    assert (known.state, known.user, known.mechanism) == (SaslState.COMPLETE, "alice", mechanism)
    assert len(steps) == {"PLAIN": 1, "SCRAM-SHA-256": 2}[mechanism]
    assert known.mechanisms == MECHANISMS
    assert not known.has_expired(1 << 62)


@each_mechanism
@pytest.mark.rule("AUTH-6")
def test_wrong_password_is_final(mechanism: str) -> None:
    known = session()

    with pytest.raises(AuthenticationError):
        prove(known, mechanism, password="wrong")

    assert (known.state, known.user) == (SaslState.FAILED, None)
    with pytest.raises(AssertionError, match="the caller checks the state"):
        known.begin(mechanism, "nonce")
    with pytest.raises(AssertionError, match="the caller checks the state"):
        known.take(b"", NOW_MS)


@each_mechanism
@pytest.mark.rule("AUTH-9")
def test_session_lasts_as_long_as_configured(mechanism: str) -> None:
    known = session(max_reauth_ms=60_000)

    *before, last = prove(known, mechanism)

    assert [step.session_lifetime_ms for step in before] == [0] * len(before)
    assert last.session_lifetime_ms == 60_000
    assert [known.has_expired(NOW_MS + after) for after in (0, 59_999, 60_000)] == [False, False, True]


@each_mechanism
@pytest.mark.rule("AUTH-9")
def test_client_proves_its_name_again(mechanism: str) -> None:
    known = session(max_reauth_ms=60_000)
    was_known = [known.is_reauthentication]
    prove(known, mechanism)
    was_known.append(known.is_reauthentication)

    prove(known, mechanism, now_ms=50_000)

    assert was_known == [False, True]
    assert (known.state, known.user) == (SaslState.COMPLETE, "alice")
    assert not known.has_expired(109_999)
    assert known.has_expired(110_000)


@pytest.mark.rule("AUTH-9")
def test_client_may_prove_its_name_after_the_end_of_its_session() -> None:
    """Kafka's nodes allow it too, as long as no other request came."""
    known = session(max_reauth_ms=60_000)
    prove(known)
    assert known.has_expired(100_000)

    prove(known, now_ms=100_000)

    assert not known.has_expired(100_001)


@pytest.mark.rule("AUTH-9")
def test_session_is_not_over_while_the_name_is_proved_again() -> None:
    known = session(max_reauth_ms=60_000)
    prove(known)

    known.begin("PLAIN", "nonce")

    assert known.state is SaslState.PROVING
    assert not known.has_expired(1 << 62)


@each_mechanism
@pytest.mark.rule("AUTH-9")
def test_name_cannot_change(mechanism: str) -> None:
    known = session()
    prove(known, mechanism)

    with pytest.raises(AuthenticationError, match=r"^Cannot change principals during re-authentication from alice$"):
        prove(known, mechanism, "bob")

    assert (known.state, known.user) == (SaslState.FAILED, "alice")


@pytest.mark.rule("AUTH-9")
def test_mechanism_cannot_change() -> None:
    known = session()
    prove(known, "SCRAM-SHA-256")

    with pytest.raises(AuthenticationError) as refused:
        known.begin("PLAIN", "nonce")

    assert str(refused.value) == (
        "SASL mechanism 'PLAIN' requested by client is not supported for re-authentication of mechanism 'SCRAM-SHA-256'"
    )
    assert known.state is SaslState.FAILED


@pytest.mark.rule("AUTH-9")
def test_wrong_password_again_ends_the_session() -> None:
    known = session()
    prove(known)

    with pytest.raises(AuthenticationError):
        prove(known, password="wrong")

    assert known.state is SaslState.FAILED


@pytest.mark.rule("AUTH-4")
def test_client_has_sixteen_requests_before_it_is_known() -> None:
    known = session()
    for _ in range(MAX_REQUESTS):
        known.count_request()

    with pytest.raises(AuthenticationError, match=r"^received more than 16 requests before authentication$"):
        known.count_request()

    assert known.state is SaslState.FAILED


@pytest.mark.rule("AUTH-4")
def test_requests_are_counted_anew_after_each_proof() -> None:
    known = session()
    for now_ms in (1, 2, 3):
        for _ in range(MAX_REQUESTS):
            known.count_request()
        prove(known, now_ms=now_ms)

    known.count_request()

    assert known.state is SaslState.COMPLETE


def test_request_out_of_order_is_final() -> None:
    known = session()
    prove(known)

    known.fail()

    assert known.state is SaslState.FAILED


@pytest.mark.rule("AUTH-8")
def test_recorded_messages_prove_nothing_on_the_same_connection() -> None:
    known = session()
    client = ScramAuthenticator("SCRAM-SHA-256", "alice", PASSWORDS["alice"], nonce="clientnonce")
    first = client.respond(b"")
    assert first is not None
    known.begin("SCRAM-SHA-256", "one")
    final = client.respond(known.take(first, NOW_MS).token)
    assert final is not None
    known.take(final, NOW_MS)

    known.begin("SCRAM-SHA-256", "two")
    known.take(first, NOW_MS)
    with pytest.raises(AuthenticationError):
        known.take(final, NOW_MS)

    assert known.state is SaslState.FAILED


def test_proof_cannot_begin_twice() -> None:
    known = session()
    known.begin("PLAIN", "nonce")

    with pytest.raises(AssertionError, match="the caller checks the state"):
        known.begin("PLAIN", "nonce")
