"""The socket of an inbound connection, and what the connections of a node share, without a node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from raft.node.large_frames import LargeFrames
from raft.node.open_connection import OpenConnection
from raft.node.request_budget import RequestBudget
from raft.runtime.drop_cause import DropCause
from raft.runtime.fault_log import FaultLog
from raft.wire.frames import FrameReader
from tests.node.harness.turns import turns_on_the_loop

_MAX_RESPONSE_BYTES = 1 << 20


class Socket(asyncio.Transport):
    """The bytes that a connection has written, and whether it reads.

    Attributes:
        is_read: whether the connection reads.
        is_aborted, is_closed: whether the connection has ended it at once, or after its last bytes.
        writes: how often it has written.
        reads_nothing: whether the other side reads nothing of what is written.
    """

    protocol: asyncio.BufferedProtocol
    """The connection."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = True
        self.is_aborted = False
        self.is_closed = False
        self.writes = 0
        self.reads_nothing = False
        self._unread_bytes = 0
        self._most_unread_bytes = 0
        self._written = b""

    @property
    def responded(self) -> list[int]:
        """Correlation ids of the responses, in the order of the writes."""
        return [int.from_bytes(frame[:4], "big") for frame in self.frames()]

    @property
    def written(self) -> bytes:
        """All bytes that the connection has written."""
        return self._written

    def frames(self) -> list[bytes]:
        """Return the responses, each without its size."""
        return list(FrameReader(_MAX_RESPONSE_BYTES).receive(self._written))

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `asyncio.Transport.write`."""
        self.writelines([data])

    def close(self) -> None:
        """See `asyncio.Transport.close`."""
        self.is_closed = True

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        """See `asyncio.Transport.writelines`."""
        self.writes += 1
        data = b"".join(list_of_data)
        self._written += data
        if self.reads_nothing:
            self._unread_bytes += len(data)
            if self._unread_bytes > self._most_unread_bytes:
                self.protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See `asyncio.Transport.set_write_buffer_limits`."""
        assert high is not None, "the node sets a limit"
        self._most_unread_bytes = high

    def read_all(self) -> None:
        """Let the other side read everything that was written."""
        self.reads_nothing, self._unread_bytes = False, 0
        self.protocol.resume_writing()

    def abort(self) -> None:
        """See `asyncio.Transport.abort`."""
        self.is_aborted = True

    def pause_reading(self) -> None:
        """See `asyncio.Transport.pause_reading`."""
        self.is_read = False

    def resume_reading(self) -> None:
        """See `asyncio.Transport.resume_reading`."""
        self.is_read = True


class Shared:
    """What the connections of a node share.

    Args:
        request_bytes: limit of `requests`.
        large_bytes: limit of `large_frames`.

    Attributes:
        turns: in which the connections are served.
        errors: of the connections.
        dropped: why connections were dropped, in the order of their ends.
    """

    def __init__(self, *, request_bytes: int = 1 << 30, large_bytes: int = 1 << 30) -> None:
        self.requests = RequestBudget(request_bytes)
        self.now_s = 0.0
        self.turns = turns_on_the_loop()
        self.dropped: list[tuple[str | None, DropCause]] = []
        self.large_frames = LargeFrames(large_bytes, lambda: self.now_s)
        self.errors = FaultLog(logging.getLogger(__name__), lambda: int(self.now_s * 1000), level=logging.ERROR)

    def opened(self, connection: OpenConnection) -> None:
        """See `Registry.opened`."""

    def established(self, connection: OpenConnection) -> None:
        """See `Registry.established`."""

    def closed(self, connection: OpenConnection, reason: str | None) -> None:
        """See `Registry.closed`."""
        self.dropped.append((reason, connection.drop_cause))
