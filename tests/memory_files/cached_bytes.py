"""The bytes of a file in memory, and what a power cut would leave of them."""

from __future__ import annotations

from collections.abc import Callable

Draw = Callable[[int], int]
"""draw(n) returns one of 0 .. n-1."""

_SECTOR_BYTES = 512
"""The disk writes so many bytes whole or not at all."""


class CachedBytes:
    """The bytes of one file, whatever names it has: those in the cache, which readers see, and those on the disk.

    Args:
        data: the bytes of the file.
        is_flushed: whether they are on the disk.

    Attributes:
        data: what readers see.
    """

    __slots__ = (
        "_flushed_before_truncation",
        "_flushed_bytes",
        "_flushed_sector",
        "_overwritten",
        "_truncated_to",
        "data",
    )

    def __init__(self, data: bytes = b"", *, is_flushed: bool = False) -> None:
        self.data = bytearray(data)
        self._flushed_bytes = len(data) if is_flushed else 0
        # Set while a truncation of flushed bytes is not flushed itself: the disk still has the bytes from before.
        self._flushed_before_truncation: bytes | None = None
        self._truncated_to = 0
        # Places whose new bytes are not flushed, with the bytes that the disk has there.
        self._overwritten: list[tuple[int, bytes]] = []
        # What the disk has of a file of one sector that was overwritten whole, and not flushed since.
        self._flushed_sector: bytes | None = None

    def overwrite(self, position: int, data: bytes) -> None:
        """Replace bytes that readers see; the disk keeps the old ones until the next flush, or some of them."""
        end_position = position + len(data)
        if len(data) == len(self.data) <= _SECTOR_BYTES:
            if self._flushed_sector is None:
                self._flushed_sector = bytes(self.data)
            self.data[:] = data
            return
        self._overwritten.append((position, bytes(self.data[position:end_position])))
        self.data[position:end_position] = data

    def truncate(self, size_bytes: int) -> None:
        """Truncate what readers see; the disk keeps its bytes until the next flush."""
        if self._flushed_before_truncation is not None:
            self._truncated_to = min(self._truncated_to, size_bytes)
        elif size_bytes < self._flushed_bytes:
            self._flushed_before_truncation = bytes(self.data[: self._flushed_bytes])
            self._truncated_to = size_bytes
        del self.data[size_bytes:]

    def flush(self) -> None:
        """Write what readers see to the disk."""
        self._flushed_bytes = len(self.data)
        self._flushed_before_truncation = None
        self._overwritten.clear()
        self._flushed_sector = None

    def after_crash(self, draw: Draw | None) -> CachedBytes:
        """Return the file as it is found after a power cut.

        Args:
            draw: decides how much of what was not flushed is on the disk; None for nothing.
        """
        found = bytearray(self.data)
        # The newer sector or the older: the bytes decide, as a draw would change what is drawn for other files.
        if self._flushed_sector is not None and (draw is None or self.data[-2] % 2):
            found[:] = self._flushed_sector
        for position, before in reversed(self._overwritten):
            # The first of the new bytes may be on the disk.
            kept = 0 if draw is None else draw(len(before) + 1)
            found[position + kept : position + len(before)] = before[kept:]
        kept_bytes = self._flushed_bytes
        if self._flushed_before_truncation is not None:
            if draw is None or draw(2):
                return CachedBytes(self._flushed_before_truncation, is_flushed=True)
            kept_bytes = self._truncated_to
        lost_bytes = len(self.data) - kept_bytes
        filler = b""
        if draw is not None and lost_bytes:
            survived_bytes = draw(lost_bytes + 1)
            kept_bytes += survived_bytes
            filler = bytes(draw(lost_bytes - survived_bytes + 1)) if draw(4) == 0 else b""
        return CachedBytes(bytes(found[:kept_bytes]) + filler, is_flushed=True)
