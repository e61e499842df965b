"""The node's side of one connection with TLS and SCRAM, without a socket."""

from __future__ import annotations

from raft.errors import AuthenticationError
from raft.security.credentials import Credentials, ScramCredential
from raft.security.sasl_server import Verifiers
from raft.security.sasl_session import SaslSession
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from raft.wire.apis import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.frames import FrameReader, ReceivedRequest, decode_request, encode_response
from raft.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.wire.connections import MAX_FRAME_BYTES, about, versions

PASSWORD = "planted-secret"
"""Of alice."""


class SecuredNode:
    """The node's side of one connection with TLS and SCRAM, without a socket.

    Args:
        context: of its TLS.
        max_reauth_ms: how long a session is valid.

    Attributes:
        session: its SASL.
        requests: that it has received.
    """

    def __init__(self, context: TlsContexts, max_reauth_ms: int = 60_000) -> None:
        made = ScramCredential.of_password(PASSWORD, "SCRAM-SHA-512", salt=bytes(16), iterations=4096)
        credentials = Credentials().with_user("alice", "SCRAM-SHA-512", made)
        verifiers = Verifiers(("SCRAM-SHA-512",), passwords=dict, credentials=lambda: credentials, pepper=b"pepper")
        self.session = SaslSession(verifiers, max_reauth_ms=max_reauth_ms)
        self.requests: list[str] = []
        self._channel = TlsChannel(context.present)
        self._frames = FrameReader(MAX_FRAME_BYTES)

    def receive(self, data: bytes) -> bytes:
        """Receive bytes; return those of the responses."""
        for frame in self._frames.receive(self._channel.receive(data)):
            request = decode_request(frame)
            assert isinstance(request, ReceivedRequest)
            self.requests.append(type(request.message).__name__)
            self._channel.send(self._response(request))
        return self._channel.data_to_send()

    def _response(self, request: ReceivedRequest) -> bytes:
        version, number = request.header.request_api_version, request.header.correlation_id
        match request.message:
            case ApiVersionsRequest():
                keys = {METADATA.key: 9, SASL_HANDSHAKE.key: 1, SASL_AUTHENTICATE.key: 2}
                served = tuple(ApiVersion(api_key=key, min_version=0, max_version=top) for key, top in keys.items())
                return versions(ApiVersionsResponse(error_code=0, api_keys=served), to=number)
            case SaslHandshakeRequest(mechanism=mechanism):
                self.session.begin(mechanism, f"nonce{number}")
                response = SaslHandshakeResponse(error_code=0, mechanisms=self.session.mechanisms)
                return encode_response(response, version, correlation_id=number)
            case SaslAuthenticateRequest(auth_bytes=token):
                return encode_response(self._step(token), version, correlation_id=number)
            case _:
                return about("x", to=number)

    def _step(self, token: bytes) -> SaslAuthenticateResponse:
        try:
            step = self.session.take(token, now_ms=0)
        except AuthenticationError as error:
            return SaslAuthenticateResponse(error_code=58, error_message=str(error), auth_bytes=b"")
        return SaslAuthenticateResponse(
            error_code=0, error_message=None, auth_bytes=step.token, session_lifetime_ms=step.session_lifetime_ms
        )
