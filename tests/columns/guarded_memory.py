"""Memory between two pages without access: touching one byte too many ends the process."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import numpy.typing as npt

PAGE_SIZE = mmap.PAGESIZE
NO_ACCESS = 0


class GuardedMemory:
    """Memory with a page without access before it and one behind it.

    Args:
        page_count: how many pages may be used.
    """

    def __init__(self, page_count: int) -> None:
        self._map = mmap.mmap(-1, (page_count + 2) * PAGE_SIZE)
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        libc = ctypes.CDLL(None, use_errno=True)
        for address in (first, first + (page_count + 1) * PAGE_SIZE):
            if libc.mprotect(ctypes.c_void_p(address), PAGE_SIZE, NO_ACCESS) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")
        self._usable = np.frombuffer(self._map, np.uint8)[PAGE_SIZE : (page_count + 1) * PAGE_SIZE]

    @property
    def size(self) -> int:
        """Bytes that may be used."""
        return len(self._usable)

    def place(self, data: bytes, *, at_end: bool) -> npt.NDArray[np.uint8]:
        """Copy `data` to the very end, or the very beginning, and return it there."""
        room = self.room(len(data), at_end=at_end)
        room[:] = np.frombuffer(data, np.uint8)
        return room

    def room(self, size: int, *, at_end: bool) -> npt.NDArray[np.uint8]:
        """Return `size` bytes at the very end, or the very beginning."""
        return self._usable[self.size - size :] if at_end else self._usable[:size]
