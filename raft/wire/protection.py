"""What protects a connection: the interfaces through which `raft.wire.connection` uses TLS and SASL.

`raft.security` has the implementations. They need files and random numbers, which a connection must not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Channel(Protocol):
    """Encrypts and decrypts the bytes of one connection, and checks who is at its other side."""

    @property
    def is_open(self) -> bool:
        """Whether bytes can be sent: the handshake is complete."""
        ...

    def receive(self, data: bytes) -> bytes:
        """Receive encrypted bytes; return the plain ones.

        Raises:
            AuthenticationError: one side does not accept the other.
            DecodeError: the bytes are not of this connection.
        """
        ...

    def send(self, data: bytes) -> None:
        """Encrypt bytes; `is_open` must be true."""
        ...

    def data_to_send(self) -> bytes:
        """Return the encrypted bytes to send next, each only once; after an error those that say why."""
        ...


class Authenticator(Protocol):
    """One proof of the name of a client, by SASL."""

    @property
    def mechanism(self) -> str:
        """The name of the mechanism."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether both sides have proved what they have to."""
        ...

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the next message of the client.

        Args:
            challenge: the message of the node; empty for the first message of the client.

        Returns:
            None if there is none.

        Raises:
            AuthenticationError: the message of the node is malformed, or does not prove what it has to.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What protects one connection of a client.

    Fields:
        channel: its TLS; None for none.
        authenticator: makes the proof of the client's name, for each time that it is proved; None for none.
    """

    channel: Channel | None = None
    authenticator: Callable[[], Authenticator] | None = None


NO_PROTECTION = Protection()
