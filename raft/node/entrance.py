"""How one connection passes the gate of its listener: its TLS, and the name of the other side."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from raft.node.gate import Gate


class Entrance:
    """The protection of one connection.

    Args:
        gate: of the listener.

    Attributes:
        write: sends the bytes of the handshake; set when the connection is open.
        caller: the other side, with its name as far as it is proved.
    """

    write: Callable[[bytes], object]

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._channel = gate.new_channel()
        self.caller = gate.new_caller("unknown")

    @property
    def is_secured(self) -> bool:
        """Whether the other side needs TLS or SASL."""
        return self._gate.is_secured

    @property
    def decryption(self) -> Callable[[bytes], bytes] | None:
        """What returns the plain bytes of received ones; None if they are not encrypted."""
        return None if self._channel is None else self._decrypt

    @property
    def is_ended(self) -> bool:
        """Whether the other side has ended its TLS. No data follows."""
        return self._channel is not None and self._channel.is_ended

    @property
    def awaited(self) -> str:
        """What the other side has to send next."""
        if self._channel is not None and not self._channel.is_open:
            return "TLS handshake"
        return "request" if self.caller.is_authenticated else "authentication"

    def encrypt(self, pieces: Iterable[bytes]) -> Iterable[bytes]:
        """Return bytes as they are sent; the handshake must be complete."""
        if self._channel is None:
            return pieces
        self._channel.send_pieces(pieces)
        return (self._channel.data_to_send(),)

    def end(self) -> bytes:
        """Return what tells the other side that the connection ends."""
        if self._channel is None:
            return b""
        self._channel.end()
        return self._channel.data_to_send()

    def refuse(self) -> None:
        """Count a name that was not proved."""
        self._gate.refuse(self.caller)

    def _decrypt(self, data: bytes) -> bytes:
        """Decrypt, and go on with the handshake.

        Raises:
            AuthenticationError: the handshake failed, or no rule gives the other side a name.
            DecodeError: the bytes were changed on their way.
        """
        channel = self._channel
        assert channel is not None, "the connection has TLS"
        was_open = channel.is_open
        try:
            plain = channel.receive(data)
        finally:
            if to_send := channel.data_to_send():
                self.write(to_send)  # After an error too: it tells the client what was wrong.
        if channel.is_open and not was_open:
            self._gate.admit(self.caller, channel)
        return plain
