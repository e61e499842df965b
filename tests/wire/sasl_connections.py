"""Connections with SASL in each state, and the frames that a node sends to them."""

from __future__ import annotations

from raft.codec import Message
from raft.errors import AuthenticationError
from raft.wire.apis import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.connection import (
    AuthenticationFailed,
    ClientConnection,
    Event,
)
from raft.wire.frames import encode_response
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from raft.wire.messages.sasl import (
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from raft.wire.protection import Protection
from tests.wire.connections import MAX_FRAME_BYTES, requests_in, versions
from tests.wire.protections import fake_sasl

HANDSHAKE_VERSION, AUTHENTICATE_VERSION = 1, 2
UNKNOWN_KEY = 999


def serving(
    handshake: tuple[int, int] | None = (0, 1), authenticate: tuple[int, int] | None = (0, 2)
) -> ApiVersionsResponse:
    """A node that serves these versions of SASL's APIs, version 9 of Metadata, and an API that is not known here."""
    served = {
        METADATA.key: (9, 9),
        UNKNOWN_KEY: (0, 1),
        SASL_HANDSHAKE.key: handshake,
        SASL_AUTHENTICATE.key: authenticate,
    }
    keys = tuple(
        ApiVersion(api_key=key, min_version=range_[0], max_version=range_[1])
        for key, range_ in served.items()
        if range_ is not None
    )
    return ApiVersionsResponse(error_code=0, api_keys=keys)


VERSIONS = serving()


def begun(protection: Protection | None = None) -> ClientConnection[str]:
    """A connection that has sent ApiVersions."""
    connection = ClientConnection[str](
        client_id="me", max_frame_bytes=MAX_FRAME_BYTES, protection=fake_sasl() if protection is None else protection
    )
    connection.data_to_send()
    return connection


def authenticating(protection: Protection | None = None) -> ClientConnection[str]:
    """A connection that has sent SaslHandshake."""
    connection = begun(protection)
    assert connection.receive_data(versions(VERSIONS)) == []
    connection.data_to_send()
    return connection


def chosen(error: int = 0, mechanisms: tuple[str, ...] = ("FAKE",), *, to: int = 1) -> bytes:
    return encode_response(
        SaslHandshakeResponse(error_code=error, mechanisms=mechanisms), HANDSHAKE_VERSION, correlation_id=to
    )


def challenge(token: bytes, *, to: int, lifetime_ms: int = 0, error: int = 0, message: str | None = None) -> bytes:
    response = SaslAuthenticateResponse(
        error_code=error, error_message=message, auth_bytes=token, session_lifetime_ms=lifetime_ms
    )
    return encode_response(response, AUTHENTICATE_VERSION, correlation_id=to)


def ready(lifetime_ms: int = 0) -> ClientConnection[str]:
    """A connection that has proved the name of the client, with four requests."""
    connection = authenticating()
    for data in (chosen(), challenge(b"1", to=2)):
        assert connection.receive_data(data) == []
    connection.receive_data(challenge(b"2", to=3, lifetime_ms=lifetime_ms))
    connection.data_to_send()
    return connection


def sent(connection: ClientConnection[str]) -> list[tuple[Message, int]]:
    """The requests that are sent next, and their versions."""
    return [(each.message, each.header.request_api_version) for each in requests_in(connection.data_to_send())]


def failure(events: list[Event[str]]) -> str:
    """Why the connection has failed, at last."""
    *_, last = events
    assert isinstance(last, AuthenticationFailed)
    assert isinstance(last.error, AuthenticationError)
    return str(last.error)
