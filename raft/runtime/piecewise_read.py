"""Reads for clients, one piece at a time, so that appends and reads of followers are done in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from raft.core.effects import ReadRange
from raft.runtime.job_queue import JobQueue
from raft.storage.log import Log

Found = TypeVar("Found")

_PIECE_BYTES = 1 << 20


class PiecewiseRead(Generic[Found]):
    """One read of committed records. Only its queued job refers to it, so its memory is freed with that job.

    Args:
        log: what to read.
        jobs: does one job for each piece.
        read: which records.
        look: called with all of them by the disk's worker; with none if a snapshot has replaced them.
        done: called on the scheduler with what `look` returned.
    """

    def __init__(
        self,
        log: Log,
        jobs: JobQueue,
        read: ReadRange,
        look: Callable[[bytes], Found],
        done: Callable[[Found], None],
    ) -> None:
        self._log = log
        self._jobs = jobs
        self._start_offset = read.start_offset
        self._look = look
        self._done = done
        self._found: list[bytes] = []
        self._pieces = log.pieces(
            read.start_offset, max_bytes=read.max_bytes, end_offset=read.end_offset, piece_bytes=_PIECE_BYTES
        )

    def read_next(self) -> None:
        """Queue the next piece, at the beginning the first one."""
        self._jobs.put_later(self._read_piece, self._on_piece)

    def _read_piece(self) -> tuple[Found] | None:
        """Return what `look` returned, after the last piece; None before."""
        piece = next(self._pieces, b"")
        self._found.append(piece)
        if len(piece) == _PIECE_BYTES:
            return None
        is_there = self._start_offset >= self._log.start_offset
        return (self._look(b"".join(self._found) if is_there else b""),)

    def _on_piece(self, found: tuple[Found] | None) -> None:
        if found is None:
            self.read_next()
        else:
            self._done(found[0])
