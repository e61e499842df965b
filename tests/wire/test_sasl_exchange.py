"""The requests of one authentication, one after the other."""

from __future__ import annotations

import pytest

from raft.errors import AuthenticationError, ErrorCode
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.protection import NO_PROTECTION
from raft.wire.sasl_exchange import SaslExchange
from tests.wire.protections import FakeAuthenticator

ACCEPTED = SaslHandshakeResponse(error_code=0, mechanisms=("FAKE",))


def challenge(
    token: bytes, *, error: int = 0, message: str | None = None, lifetime_ms: int = 0
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=error, error_message=message, auth_bytes=token, session_lifetime_ms=lifetime_ms
    )


def test_exchange_has_a_request_for_each_token() -> None:
    exchange = SaslExchange(FakeAuthenticator([b"a", b"b"]))

    requests = [exchange.next_request(response) for response in (ACCEPTED, challenge(b"1"), challenge(b"2"))]

    assert exchange.first_request == SaslHandshakeRequest(mechanism="FAKE")
    assert requests == [SaslAuthenticateRequest(auth_bytes=b"a"), SaslAuthenticateRequest(auth_bytes=b"b"), None]
    assert exchange.session_lifetime_ms is None


def test_exchange_may_end_without_a_token() -> None:
    assert SaslExchange(FakeAuthenticator([])).next_request(ACCEPTED) is None


@pytest.mark.parametrize(
    ("lifetimes", "expected"),
    [((0, 5), 5), ((5, 0), None), ((5, 6), 6), ((0, -5), None)],
    ids=["at last", "not at last", "twice", "negative"],
)
@pytest.mark.rule("AUTH-9")
def test_lifetime_is_that_of_the_last_response(lifetimes: tuple[int, int], expected: int | None) -> None:
    exchange = SaslExchange(FakeAuthenticator([b"a", b"b"]))
    exchange.next_request(ACCEPTED)

    for number, lifetime_ms in enumerate(lifetimes, 1):
        exchange.next_request(challenge(str(number).encode(), lifetime_ms=lifetime_ms))

    assert exchange.session_lifetime_ms == expected


def test_token_that_comes_with_an_error_is_not_looked_at() -> None:
    exchange = SaslExchange(FakeAuthenticator())
    exchange.next_request(ACCEPTED)

    with pytest.raises(AuthenticationError, match=r": INVALID_REQUEST$"):
        exchange.next_request(challenge(b"1", error=ErrorCode.INVALID_REQUEST, message=""))


def test_connection_without_protection_has_neither_tls_nor_sasl() -> None:
    assert (NO_PROTECTION.channel, NO_PROTECTION.authenticator) == (None, None)
