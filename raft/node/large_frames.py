"""Large frames that are partly received, of all connections together.

What counts is how much of a frame is received, not the size that its first bytes announce: twelve bytes can announce
100 MiB. While too much is received, the node reads only the oldest of these frames, so that one after the other is
completed.

While other frames wait for it, a frame must be received at a minimum rate, or its connection is dropped. So a client
that begins a large append and does not complete it cannot stop the large appends of other clients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

GRACE_S = 0.5
"""How long other frames may wait for a frame, however slowly it is received."""

SLOWEST_BYTES_PER_S = 1 << 20
"""Minimum rate of a frame that other frames wait for."""


class FrameSource(Protocol):
    """A connection that sends a large frame."""

    def resume(self) -> None:
        """Resume reading, unless the connection has another reason to wait."""
        ...

    def drop_as_slow(self) -> None:
        """Drop the connection: other frames wait for its frame, which is received too slowly."""
        ...


@dataclass(slots=True, eq=False)
class _PartialFrame:
    """One frame.

    Fields:
        received_bytes: how much of it is received.
        read_since_s: since when it is read without a pause; None while it is not read, and when it is complete.
        received_before_bytes: how much of it was received at that time.
    """

    received_bytes: int
    read_since_s: float | None
    received_before_bytes: int

    def is_slow(self, now_s: float) -> bool:
        """Return whether it has been received slower than the minimum rate since it is read."""
        if self.read_since_s is None:
            return False
        duration_s = now_s - self.read_since_s
        received_bytes = self.received_bytes - self.received_before_bytes
        return duration_s > GRACE_S and received_bytes < duration_s * SLOWEST_BYTES_PER_S


class LargeFrames:
    """Counts the received bytes of large frames, and decides which of them are read.

    Args:
        limit_bytes: above this only the oldest frame is read.
        now_s: returns the time of a monotonic clock, in seconds.
    """

    def __init__(self, limit_bytes: int, now_s: Callable[[], float]) -> None:
        self._limit_bytes = limit_bytes
        self._now_s = now_s
        self._partial: dict[FrameSource, _PartialFrame] = {}
        self._total_bytes = 0

    @property
    def limit_bytes(self) -> int:
        """The limit."""
        return self._limit_bytes

    @property
    def taken_bytes(self) -> int:
        """How many bytes of large frames are received."""
        return self._total_bytes

    @property
    def is_exhausted(self) -> bool:
        """Whether more than the limit is received."""
        return self._total_bytes > self._limit_bytes

    def has_room_for(self, source: FrameSource) -> bool:
        """Return whether a connection may receive much of a large frame."""
        return not self.is_exhausted or next(iter(self._partial)) is source

    def received(self, source: FrameSource, received_bytes: int, *, is_complete: bool) -> None:
        """Note how much of a connection's frame is received.

        Args:
            source: the connection.
            received_bytes: how much is received; more than `raft.node.read_buffer.SMALL_BYTES`.
            is_complete: whether that is the whole frame.
        """
        frame = self._partial.get(source)
        if frame is None:
            # The rate is measured from now on: the first part does not count.
            frame = self._partial[source] = _PartialFrame(0, self._now_s(), received_bytes)
        self._total_bytes += received_bytes - frame.received_bytes
        frame.received_bytes = received_bytes
        if is_complete:
            frame.read_since_s = None

    def ask_to_read(self, source: FrameSource) -> bool:
        """Return whether to read more from a connection, and note when reading its frame begins or pauses.

        Connections call it after each read.
        """
        frame = self._partial.get(source)
        if frame is None:
            return True
        may_read = self.has_room_for(source)
        if not may_read:
            frame.read_since_s = None
        elif frame.read_since_s is None:
            frame.read_since_s, frame.received_before_bytes = self._now_s(), frame.received_bytes
        return may_read

    def forget(self, source: FrameSource) -> None:
        """Stop counting a connection's frame: its request has begun, or the connection is closed."""
        frame = self._partial.pop(source, None)
        if frame is not None:
            self._total_bytes -= frame.received_bytes
            for waiting in [each for each, other in self._partial.items() if other.read_since_s is None]:
                waiting.resume()

    def drop_slow(self) -> None:
        """Drop the connections whose frames are too slow while others wait. The owner calls it at intervals."""
        if self.is_exhausted:
            now_s = self._now_s()
            for source in [source for source, frame in self._partial.items() if frame.is_slow(now_s)]:
                source.drop_as_slow()
