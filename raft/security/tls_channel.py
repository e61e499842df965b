"""TLS over the bytes of one connection, without a socket: encrypted bytes in and out, plain bytes in and out.

asyncio has TLS too, but shows a connection only after its handshake. Here the handshake is part of the connection, so
the limits of a node count it too.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from raft.errors import AuthenticationError, DecodeError

_RECORD_BYTES = 1 << 14
"""The most that one read returns: the largest record of TLS."""

_STEP_BYTES = 1 << 16
"""How many bytes pass OpenSSL's buffers at once, which keep the size that they have reached once."""


class TlsChannel:
    """One side of a connection with TLS.

    Args:
        context: of this side, or a function that returns it: it is called when the first bytes are received.
        host: the name or the address that was connected to, for the side of a client; None for that of a node.

    Attributes:
        is_open: whether the handshake is complete.
        is_ended: whether the other side has ended the connection in order. No data follows.
    """

    def __init__(self, context: ssl.SSLContext | Callable[[], ssl.SSLContext], *, host: str | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._encrypted: list[bytes] = []
        self._context = context
        self._host = host
        self._other = "client" if host is None else "node"
        self.is_open = False
        self.is_ended = False
        if host is not None:
            # ValueError for an impossible host name: there is no node that could prove it.
            _ = self._tls
            self._shake_hands()

    @cached_property
    def _tls(self) -> ssl.SSLObject:
        """The TLS of this connection. A node makes it when the turn of the client comes, because it takes time."""
        context = self._context if isinstance(self._context, ssl.SSLContext) else self._context()
        return context.wrap_bio(
            self._incoming, self._outgoing, server_side=self._host is None, server_hostname=self._host
        )

    def receive(self, data: bytes) -> bytes:
        """Receive encrypted bytes; return the plain ones.

        `data_to_send` may have new bytes afterwards, also if an error is raised: then they tell it to the other side.

        Raises:
            AuthenticationError: the handshake failed, or the other side refuses the certificate of this one.
            DecodeError: the bytes were changed on their way.
        """
        if len(data) <= _STEP_BYTES:
            return self._receive(data)
        return b"".join([self._receive(step) for step in _steps(data)])

    def _receive(self, data: bytes | memoryview) -> bytes:
        self._incoming.write(data)
        if not self.is_open and not self._shake_hands():
            return b""
        parts = []
        try:
            # A read that finds nothing raises an error, which costs more than the decryption of a small record.
            while self._incoming.pending or self._tls.pending():
                part = self._tls.read(_RECORD_BYTES)
                parts.append(part)
                if not part:
                    self.is_ended = True
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.is_ended = True
        except ssl.SSLError as error:
            reason = error.reason or ""
            if "ALERT" in reason and not reason.endswith(_ALERTS_OF_DAMAGE):
                # With TLS 1.3 the other side checks the certificate after this side has completed the handshake.
                raise AuthenticationError(
                    f"the {self._other} refused the certificate in ssl.keystore.location: {_words(error)}"
                ) from error
            raise DecodeError(f"received bytes that are not of this TLS connection: {_words(error)}") from error
        return b"".join(parts)

    def send(self, data: bytes | bytearray) -> None:
        """Encrypt bytes: `data_to_send` returns them. The handshake must be complete."""
        for step in _steps(data):
            self._tls.write(step)
            if self._outgoing.pending >= _STEP_BYTES:
                self._encrypted.append(self._outgoing.read())

    def send_pieces(self, pieces: Iterable[bytes]) -> None:
        """Encrypt bytes that are in pieces; see `send`. Small ones are joined, because each `send` makes a record."""
        small = bytearray()
        for piece in pieces:
            if len(piece) < _RECORD_BYTES:
                small += piece
            else:
                self.send(small)
                self.send(piece)
                small = bytearray()
        self.send(small)

    def data_to_send(self) -> bytes:
        """Return the encrypted bytes to send next, each only once; empty if there are none."""
        if not self._encrypted:
            return self._outgoing.read()
        encrypted, self._encrypted = self._encrypted, []
        return b"".join([*encrypted, self._outgoing.read()])

    def end(self) -> None:
        """End the connection in order: `data_to_send` returns what tells it to the other side."""
        try:
            self._tls.unwrap()
        except ssl.SSLError:
            return  # The other side has not ended it yet, or the handshake is not complete.

    def certificate(self) -> bytes | None:
        """Return the certificate of the other side as DER; None if it has none."""
        return self._tls.getpeercert(binary_form=True)

    @property
    def version(self) -> str:
        """The version of TLS; "" before the handshake."""
        return self._tls.version() or ""

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.CertificateError as error:
            raise AuthenticationError(
                f"the certificate of the {self._other} is not accepted: {_words(error)}"
            ) from error
        except ssl.SSLError as error:
            raise AuthenticationError(f"the TLS handshake with the {self._other} failed: {_words(error)}") from error
        except Exception as error:
            # Who the other side is was not checked to the end, whatever the reason is.
            raise AuthenticationError(f"the TLS handshake with the {self._other} failed: {error!r}") from error
        self.is_open = True
        return True


def _steps(data: bytes | bytearray) -> Iterator[memoryview]:
    view = memoryview(data)
    return (view[start : start + _STEP_BYTES] for start in range(0, len(view), _STEP_BYTES))


_ALERTS_OF_DAMAGE = ("BAD_RECORD_MAC", "DECODE_ERROR", "RECORD_OVERFLOW", "UNEXPECTED_MESSAGE", "INTERNAL_ERROR")
"""The other side could not read what this one has sent."""

_UNKNOWN_AUTHORITY = frozenset([18, 19, 20, 21])
_OTHER_HOST = frozenset([62, 64])
"""Codes of OpenSSL: X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT to _UNABLE_TO_VERIFY_LEAF_SIGNATURE; _HOSTNAME_MISMATCH and
_IP_ADDRESS_MISMATCH.
"""


def _words(error: ssl.SSLError) -> str:
    """Say what was wrong, without OpenSSL's numbers and files."""
    if isinstance(error, ssl.SSLCertVerificationError):
        words = error.verify_message.rstrip(".")
        if error.verify_code in _UNKNOWN_AUTHORITY:
            return f"{words}: expected one of an authority in ssl.truststore.location"
        if error.verify_code in _OTHER_HOST:
            return f"{words}: expected a name or an address of the node that its certificate has"
        return words
    return (error.reason or str(error)).lower().replace("_", " ")
