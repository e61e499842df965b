"""Fakes of TLS and SASL for connections: each byte is changed, and the proof is a list of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from raft.errors import AuthenticationError, DecodeError
from raft.wire.protection import Protection

HELLO, WELCOME = b"client hello", b"node hello"
REFUSAL = b"refused"
DAMAGED = b"\xff"
"""A byte that is no encrypted one: capitals and small letters are exchanged, and the highest bit is unused."""


def encrypted(data: bytes) -> bytes:
    """The bytes as they are sent: each of the four lower bits is turned."""
    return bytes(byte ^ 0x0F for byte in data)


class FakeChannel:
    """TLS with a handshake of two messages. It is open when that of the node has arrived.

    Attributes:
        is_open: see `Channel`.
    """

    def __init__(self) -> None:
        self.is_open = False
        self._handshake = b""
        self._outgoing = HELLO

    def receive(self, data: bytes) -> bytes:
        """See `Channel.receive`. The node may send a refusal instead, and ends the stream by a damaged byte."""
        if not self.is_open:
            self._handshake += data
            if self._handshake.startswith(REFUSAL):
                self._outgoing = b"alert"
                raise AuthenticationError("the node does not accept the client")
            if not self._handshake.startswith(WELCOME):
                return b""
            self.is_open, data = True, self._handshake[len(WELCOME) :]
        if data.endswith(DAMAGED):
            self._outgoing = b"alert"
            raise DecodeError("received bytes that are not of this connection")
        return encrypted(data)

    def send(self, data: bytes) -> None:
        """See `Channel.send`."""
        assert self.is_open, "the handshake is complete"
        self._outgoing += encrypted(data)

    def data_to_send(self) -> bytes:
        """See `Channel.data_to_send`."""
        data, self._outgoing = self._outgoing, b""
        return data


class FakeAuthenticator:
    """A proof that consists of these tokens, each after a challenge that is its number.

    Args:
        tokens: what the client sends.
    """

    mechanism = "FAKE"

    def __init__(self, tokens: Sequence[bytes] = (b"first", b"second")) -> None:
        self._tokens = tuple(tokens)
        self._sent = 0

    @property
    def is_complete(self) -> bool:
        """See `Authenticator.is_complete`."""
        return self._sent > len(self._tokens)

    def respond(self, challenge: bytes) -> bytes | None:
        """See `Authenticator.respond`."""
        expected = str(self._sent).encode() if self._sent else b""
        if challenge != expected:
            raise AuthenticationError(f"expected challenge {self._sent}")
        self._sent += 1
        return None if self.is_complete else self._tokens[self._sent - 1]


def fake_sasl(tokens: Sequence[bytes] = (b"first", b"second")) -> Protection:
    """SASL without TLS; each proof is a new one."""
    return Protection(authenticator=lambda: FakeAuthenticator(tokens))
