"""Large frames that have begun to come in, of all connections together.

What counts is what has come of a frame, not the size that its first bytes announce: twelve bytes can announce a hundred
mebibytes. While too much has come, only the oldest of them is read on, so that one after the other is completed.

A frame that then holds up the others has to come at a certain rate, or its connection is dropped. So a client
cannot stop the large appends of others by beginning one and not going on with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SMALL_FRAME_BYTES = 1 << 18
"""A frame of which no more than this has come is not counted: one read from a socket may bring as much."""

GRACE_S = 0.5
"""How long a frame may hold up others at any rate."""

SLOWEST_BYTES_PER_S = 1 << 20
"""Rate at which a frame that holds up others has to come."""


class Source(Protocol):
    """A connection that a large frame comes by."""

    def resume(self) -> None:
        """Read on, as far as the connection itself has nothing against it."""
        ...

    def drop_as_slow(self) -> None:
        """Close the connection: its frame holds up others."""
        ...


@dataclass(slots=True, eq=False)
class _Coming:
    """One frame.

    Fields:
        came_bytes: of it, so far.
        read_since_s: since when it has been read without a pause; None while it is not, or is complete.
        came_before_bytes: of it, before that.
    """

    came_bytes: int
    read_since_s: float | None
    came_before_bytes: int

    def is_slow(self, now_s: float) -> bool:
        if self.read_since_s is None:
            return False
        duration_s = now_s - self.read_since_s
        return duration_s > GRACE_S and self.came_bytes - self.came_before_bytes < duration_s * SLOWEST_BYTES_PER_S


class LargeFrames:
    """Counts what has come of large frames, and says which may be read on.

    Args:
        limit_bytes: above this only the oldest is read on.
        now_s: a monotonic clock.
    """

    def __init__(self, limit_bytes: int, now_s: Callable[[], float]) -> None:
        self._limit_bytes = limit_bytes
        self._now_s = now_s
        self._coming: dict[Source, _Coming] = {}
        self._total_bytes = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether too much has come of all of them."""
        return self._total_bytes > self._limit_bytes

    def came(self, source: Source, came_bytes: int, *, is_complete: bool) -> None:
        """So much of a source's frame has come; it is more than `SMALL_FRAME_BYTES`."""
        coming = self._coming.get(source)
        if coming is None:
            # It has come at some rate before: what counts is how it goes on.
            coming = self._coming[source] = _Coming(0, self._now_s(), came_bytes)
        self._total_bytes += came_bytes - coming.came_bytes
        coming.came_bytes = came_bytes
        if is_complete:
            coming.read_since_s = None

    def may_read(self, source: Source) -> bool:
        """Whether the source's frame may be read on; asked after each read."""
        coming = self._coming.get(source)
        if coming is None:
            return True
        may_read = not self.is_exhausted or next(iter(self._coming)) is source
        if not may_read:
            coming.read_since_s = None
        elif coming.read_since_s is None:
            coming.read_since_s, coming.came_before_bytes = self._now_s(), coming.came_bytes
        return may_read

    def forget(self, source: Source) -> None:
        """The source's frame has become a request, or its connection is gone."""
        coming = self._coming.pop(source, None)
        if coming is not None:
            self._total_bytes -= coming.came_bytes
            for waiting in [each for each, frame in self._coming.items() if frame.read_since_s is None]:
                waiting.resume()

    def drop_slow(self) -> None:
        """Drop the connections of those that hold up others; to be called now and then."""
        if self.is_exhausted:
            now_s = self._now_s()
            for source in [source for source, coming in self._coming.items() if coming.is_slow(now_s)]:
                source.drop_as_slow()
