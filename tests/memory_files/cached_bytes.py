"""The bytes of a file in memory, and what of them would outlive a power cut."""

from __future__ import annotations

from collections.abc import Callable

Draw = Callable[[int], int]
"""Dice: draw(n) is one of 0 .. n-1."""


class CachedBytes:
    """The bytes of one file, whatever names it has: those in the cache, which readers see, and those on the platter.

    Args:
        data: what the file holds.
        is_flushed: whether that is on the platter.

    Attributes:
        data: what readers see.
    """

    __slots__ = ("_cut_to", "_flushed_before_cut", "_flushed_bytes", "data")

    def __init__(self, data: bytes = b"", *, is_flushed: bool = False) -> None:
        self.data = bytearray(data)
        self._flushed_bytes = len(data) if is_flushed else 0
        # Set while a cut into flushed bytes is not flushed itself: the platter still holds what was there before.
        self._flushed_before_cut: bytes | None = None
        self._cut_to = 0

    def truncate(self, size_bytes: int) -> None:
        """Cut what readers see; the platter keeps what it has until the next flush."""
        if self._flushed_before_cut is not None:
            self._cut_to = min(self._cut_to, size_bytes)
        elif size_bytes < self._flushed_bytes:
            self._flushed_before_cut = bytes(self.data[: self._flushed_bytes])
            self._cut_to = size_bytes
        del self.data[size_bytes:]

    def flush(self) -> None:
        """Put what readers see on the platter."""
        self._flushed_bytes = len(self.data)
        self._flushed_before_cut = None

    def after_crash(self, draw: Draw | None) -> CachedBytes:
        """Return the file as it is found after a power cut.

        Args:
            draw: dice for how much of the unflushed got to the platter by itself; None for nothing.
        """
        kept_bytes = self._flushed_bytes
        if self._flushed_before_cut is not None:
            if draw is None or draw(2):
                return CachedBytes(self._flushed_before_cut, is_flushed=True)
            kept_bytes = self._cut_to
        lost_bytes = len(self.data) - kept_bytes
        filler = b""
        if draw is not None and lost_bytes:
            survived_bytes = draw(lost_bytes + 1)
            kept_bytes += survived_bytes
            filler = bytes(draw(lost_bytes - survived_bytes + 1)) if draw(4) == 0 else b""
        return CachedBytes(bytes(self.data[:kept_bytes]) + filler, is_flushed=True)
