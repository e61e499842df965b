"""SaslHandshake and SaslAuthenticate: a client proves who it is, before its first other request (KIP-43, KIP-152).

Version 0 of SaslHandshake is followed by tokens without frames of their own. It is not supported, and is announced only
because librdkafka looks for it.
"""

from raft.codec import BYTES, INT16, INT64, STRING, Message, array, field, message


@message(api_key=17, versions="0-1", flexible="none")
class SaslHandshakeRequest(Message):
    """Names the mechanism that the client has chosen."""

    mechanism: str = field(STRING)


@message(api_key=17, versions="0-1", flexible="none")
class SaslHandshakeResponse(Message):
    """Accepts the mechanism, or refuses it. Both responses have the mechanisms that the node supports."""

    error_code: int = field(INT16)
    mechanisms: tuple[str, ...] = field(array(STRING))


@message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Message):
    """The next message of the client in the mechanism's exchange."""

    auth_bytes: bytes = field(BYTES)

    def __repr__(self) -> str:
        # The bytes of PLAIN are the password.
        return f"{type(self).__name__}({len(self.auth_bytes)} bytes)"


@message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(Message):
    """The next message of the node, or the error.

    Fields:
        session_lifetime_ms: how long the session is valid, with the last message; 0 for no limit (KIP-368).
    """

    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    auth_bytes: bytes = field(BYTES)
    session_lifetime_ms: int = field(INT64, versions="1+", default=0, ignorable=True)

    def __repr__(self) -> str:
        # The bytes of SCRAM say how the password is hashed.
        return (
            f"{type(self).__name__}(error_code={self.error_code}, error_message={self.error_message!r}, "
            f"{len(self.auth_bytes)} bytes, session_lifetime_ms={self.session_lifetime_ms})"
        )
