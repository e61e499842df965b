"""Reads for clients, in pieces, so that appends and the reads of followers are done between two pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from raft.core.effects import ReadRange
from raft.errors import CorruptBatchError
from raft.runtime.job_queue import JobQueue, Passing
from raft.storage.log import Log
from raft.types import Offset, OffsetAndEpoch

Result = TypeVar("Result")

PIECE_BYTES = 1 << 20
"""Size of a piece."""


class PiecewiseRead(Generic[Result]):
    """One read of committed records. Only its queued job refers to it, so its memory is freed with that job.

    Args:
        log: the log.
        jobs: does one job for each piece.
        read: the range of the records.
        parse: called with all records and the log on the worker of the disk; with empty bytes if a snapshot has
            replaced the records, and has none of them.
        done: called on the scheduler with the result of `parse`; with the error if the first record is damaged.
        piece_bytes: size of a piece.
        readable_end: called with damage that the read has met; returns where it begins, None if the read begins in it.
    """

    def __init__(
        self,
        log: Log,
        jobs: JobQueue,
        read: ReadRange,
        parse: Callable[[bytes, Log], Result],
        done: Callable[[Result | CorruptBatchError], None],
        *,
        piece_bytes: int = PIECE_BYTES,
        readable_end: Callable[[CorruptBatchError, ReadRange], Offset | None] = lambda _error, _read: None,
    ) -> None:
        self._log = log
        self._jobs = jobs
        self._parse = parse
        self._done = done
        self._read = read
        self._piece_bytes = piece_bytes
        self._readable_end = readable_end
        self._found: list[bytes] = []
        self._start: OffsetAndEpoch | None = None
        self._pieces: Iterator[bytes] = iter(())

    def read_next(self) -> None:
        """Queue the job that reads the next piece."""
        # The core knows the log as it is after a truncation. If that waits for room, there are other records there.
        self._jobs.put_later(self._read_piece, self._on_piece, passing=Passing.ADDITIONS)

    def _read_piece(self) -> tuple[Result | CorruptBatchError] | None:
        """Read a piece; return the result after the last piece, None before."""
        try:
            return self._try_piece()
        except CorruptBatchError as error:
            end_offset = self._readable_end(error, self._read)
            if end_offset is None:
                return (error,)
            # What lies before the damage is read again.
            self._read, self._start = replace(self._read, end_offset=end_offset), None
            return None

    def _try_piece(self) -> tuple[Result] | None:
        if self._start != self._log.start:
            # This is the first piece, or a snapshot has replaced the start of the log since.
            self._start, self._found, self._pieces = self._log.start, [], self._begin()
        piece = next(self._pieces, b"")
        self._found.append(piece)
        if len(piece) == self._piece_bytes:
            return None
        return (self._parse(b"".join(self._found), self._log),)

    def _begin(self) -> Iterator[bytes]:
        read = self._read
        return self._log.pieces(
            read.start_offset, max_bytes=read.max_bytes, end_offset=read.end_offset, piece_bytes=self._piece_bytes
        )

    def _on_piece(self, found: tuple[Result | CorruptBatchError] | None) -> None:
        if found is None:
            self.read_next()
        else:
            self._done(found[0])
