"""A connection of the neighbour with TLS, whose records it can also make itself."""

from __future__ import annotations

import asyncio
import ssl
from typing import Self

from raft.errors import AuthenticationError, DecodeError
from raft.security.tls_channel import TlsChannel
from tests.hostile.connection import Connection
from tests.node.harness.properties import HOST


class EncryptedConnection(Connection):
    """One connection with TLS, which begins with `shake_hands`."""

    _channel: TlsChannel

    @classmethod
    def over(cls, connection: Connection) -> Self:
        """Return a connection with TLS over one that is open, which closes it."""
        return cls(connection._reader, connection._writer)

    async def shake_hands(self, context: ssl.SSLContext) -> None:
        """Do the handshake.

        Raises:
            OSError: the node ends it.
        """
        self._channel = TlsChannel(context, host=HOST)
        self._unread = bytearray()
        await self.send_raw(self._channel.data_to_send())
        while not self._channel.is_open:
            if not await self._read_more():
                raise ConnectionError("the node closed the connection during the handshake")
        await self.send_raw(self._channel.data_to_send())

    async def send(self, data: bytes) -> None:
        """See `Connection.send`."""
        self._channel.send(data)
        await self.send_raw(self._channel.data_to_send())

    async def send_in_records(self, data: bytes, *, record_bytes: int) -> None:
        """Send bytes in records of TLS of this size; see `send`."""
        for at in range(0, len(data), record_bytes):
            self._channel.send(data[at : at + record_bytes])
        await self.send_raw(self._channel.data_to_send())

    async def _some(self) -> bytes:
        if not self._unread:
            await self._read_more()
        data, self._unread = bytes(self._unread), bytearray()
        return data

    async def _exactly(self, size_bytes: int) -> bytes:
        while len(self._unread) < size_bytes:
            if not await self._read_more():
                raise asyncio.IncompleteReadError(bytes(self._unread), size_bytes)
        data = bytes(self._unread[:size_bytes])
        del self._unread[:size_bytes]
        return data

    async def _read_more(self) -> bool:
        """Receive something; return whether the connection goes on.

        Raises:
            OSError: the node ends it, and says so by TLS.
        """
        was_open, plain = self._channel.is_open, b""
        while not plain and self._channel.is_open is was_open and not self._channel.is_ended:
            raw = await self._raw()
            if not raw:
                return False
            try:
                plain = self._channel.receive(raw)
            except (AuthenticationError, DecodeError) as error:
                raise ConnectionError(f"{error}") from error
        self.received_bytes += len(plain)
        self._unread += plain
        return bool(plain) or not self._channel.is_ended
