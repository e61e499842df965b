"""Clients' reads on the disk thread, a piece at a time, so that appends and followers' reads come between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from raft.core.effects import ReadRange
from raft.node.disk import DiskThread
from raft.storage.log import Log

Found = TypeVar("Found")

_PIECE_BYTES = 1 << 20


class PiecewiseRead(Generic[Found]):
    """One read of committed records. Nothing refers to it but the job that it has queued.

    Args:
        log: what to read.
        disk: where each piece is a job of its own.
        read: which records.
        look: looks at all of them on the disk thread; there are none if a snapshot has taken their place.
        done: gets what `look` found, on the loop.
    """

    def __init__(
        self,
        log: Log,
        disk: DiskThread,
        read: ReadRange,
        look: Callable[[bytes], Found],
        done: Callable[[Found], None],
    ) -> None:
        self._log = log
        self._disk = disk
        self._start_offset = read.start_offset
        self._look = look
        self._done = done
        self._found: list[bytes] = []
        self._pieces = log.pieces(
            read.start_offset, max_bytes=read.max_bytes, end_offset=read.end_offset, piece_bytes=_PIECE_BYTES
        )

    def begin(self) -> None:
        """Queue the first piece."""
        self._disk.do_later(self._read_next)

    def _read_next(self) -> None:
        piece = next(self._pieces, b"")
        self._found.append(piece)
        if len(piece) == _PIECE_BYTES:
            self._disk.do_later(self._read_next)
        else:
            self._disk.do_later(self._conclude, self._done)

    def _conclude(self) -> Found:
        is_there = self._start_offset >= self._log.start_offset
        return self._look(b"".join(self._found) if is_there else b"")
