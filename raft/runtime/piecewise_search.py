"""Searches for clients, in pieces, so that appends and the reads of followers are done between two pieces."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from raft.errors import CorruptBatchError
from raft.runtime.job_queue import JobQueue, Passing

Result = TypeVar("Result")


class PiecewiseSearch(Generic[Result]):
    """One search of the committed log. Only its queued job refers to it.

    Args:
        jobs: does one job for each piece.
        pieces: yields after each piece but the last one, and returns the result. Between two pieces a snapshot may
            replace the log.
        done: called on the scheduler with the result; with the error if the log is damaged there.
        damaged: called with damage that the search has met.
    """

    def __init__(
        self,
        jobs: JobQueue,
        pieces: Generator[None, None, Result],
        done: Callable[[Result | CorruptBatchError], None],
        *,
        damaged: Callable[[CorruptBatchError], None] = lambda _error: None,
    ) -> None:
        self._jobs = jobs
        self._pieces = pieces
        self._done = done
        self._damaged = damaged

    def search_next(self) -> None:
        """Queue the job that does the next piece."""
        self._jobs.put_later(self._search_piece, self._on_piece, passing=Passing.ADDITIONS)

    def _search_piece(self) -> tuple[Result | CorruptBatchError] | None:
        """Do a piece; return the result after the last piece, None before."""
        try:
            next(self._pieces)
        except StopIteration as end:
            return (end.value,)
        except CorruptBatchError as error:
            self._damaged(error)
            return (error,)
        return None

    def _on_piece(self, found: tuple[Result | CorruptBatchError] | None) -> None:
        if found is None:
            self.search_next()
        else:
            self._done(found[0])
