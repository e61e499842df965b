"""Two sides of a TLS connection that exchange bytes without a socket."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from raft.errors import AuthenticationError, DecodeError
from raft.security.tls_channel import TlsChannel
from tests.security.certificates import HOST

Failure = AuthenticationError | DecodeError
Change = Callable[[bytes], bytes]


def unchanged(data: bytes) -> bytes:
    return data


@dataclass(slots=True)
class Pair:
    """A client and a node.

    Fields:
        client, node: the two sides.
        client_error, node_error: with which a side has failed; None if it has not.
        received: what each side has received.
        flights: the encrypted bytes that were exchanged, each with the side that has sent them.
    """

    client: TlsChannel
    node: TlsChannel
    client_error: Failure | None = None
    node_error: Failure | None = None
    received: dict[str, bytes] = field(default_factory=lambda: {"client": b"", "node": b""})
    flights: list[tuple[str, bytes]] = field(default_factory=list)

    @classmethod
    def of(cls, client: ssl.SSLContext, node: ssl.SSLContext, host: str = HOST) -> Pair:
        return cls(TlsChannel(client, host=host), TlsChannel(node))

    @property
    def are_open(self) -> bool:
        return self.client.is_open and self.node.is_open

    def exchange(self, change: Change = unchanged, *, flight: int | None = None) -> Pair:
        """Move bytes until both sides have nothing to send.

        Args:
            change: returns the bytes that arrive for those that were sent.
            flight: the number of the only flight that is changed; None for all.
        """
        while True:
            moved = [self._move(sender, change, flight) for sender in ("client", "node")]
            if not any(moved):
                return self

    def _move(self, sender: str, change: Change, flight: int | None) -> bool:
        source, target, name = (
            (self.client, self.node, "node") if sender == "client" else (self.node, self.client, "client")
        )
        data = source.data_to_send()
        if not data:
            return False
        number = len(self.flights)
        self.flights.append((sender, data))
        if flight in (None, number):
            data = change(data)
        if self._error_of(name) is None:
            self._receive(name, target, data)
        return True

    def _receive(self, name: str, target: TlsChannel, data: bytes) -> None:
        try:
            self.received[name] += target.receive(data)
        except (AuthenticationError, DecodeError) as error:
            if name == "node":
                self.node_error = error
            else:
                self.client_error = error

    def _error_of(self, name: str) -> Failure | None:
        return self.node_error if name == "node" else self.client_error
