"""The memory into which the connections of an event loop read: one after the other, so all of them share it.

How much is read at once is how much a connection holds while it waits for its turn. Small requests fit into a small
read. What is received of a larger frame counts against the budget of large frames as soon as it is received, and its
rest is read in large pieces while there is room for them in that budget. A large piece has nothing of the next frame.
So at most three small reads of a connection do not count: the begin of a frame, and two that wait for its turn.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod

SMALL_BYTES = 1 << 14
"""A frame of which more is received counts as large."""

LARGE_BYTES = 1 << 18
"""As asyncio reads at once."""


class ReadBuffer:
    """The memory of one event loop."""

    def __init__(self) -> None:
        self.large = memoryview(bytearray(LARGE_BYTES))
        self.small = self.large[:SMALL_BYTES]


class ReadBufferProtocol(asyncio.BufferedProtocol):
    """A connection that reads into a `ReadBuffer`.

    Args:
        buffer: of the event loop.
    """

    def __init__(self, buffer: ReadBuffer) -> None:
        self._buffer = buffer

    @property
    @abstractmethod
    def large_rest_bytes(self) -> int:
        """How many bytes of a large frame are missing, if there is room for a large piece of it; 0 if not."""

    @abstractmethod
    def data_received(self, data: bytes) -> None:
        """Receive bytes."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next data is put; `buffer_updated` follows before another connection reads."""
        del sizehint  # asyncio and uvloop give none.
        rest_bytes = self.large_rest_bytes
        return self._buffer.large[:rest_bytes] if rest_bytes > SMALL_BYTES else self._buffer.small

    def buffer_updated(self, nbytes: int) -> None:
        """Receive so many bytes of the buffer."""
        self.data_received(bytes(self._buffer.large[:nbytes]))
