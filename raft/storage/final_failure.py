"""Remembers the first error of a write or flush, because no write may follow it (LOG-17)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from raft.errors import DiskFullError, StorageError


class FinalFailure:
    """The first error of a log's writes and flushes, if there was one."""

    def __init__(self) -> None:
        self._failure: StorageError | None = None

    @property
    def has_happened(self) -> bool:
        """Whether a write or flush has failed."""
        return self._failure is not None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Do a write or flush in this context. A lack of room is not final: what is done then is known (LOG-27).

        Raises:
            DiskFullError: the disk has no room now.
            StorageError: the disk returned another error, now or before.
        """
        if self._failure is not None:
            raise StorageError(f"the log takes no writes after an error: {self._failure}") from self._failure
        try:
            yield
        except DiskFullError:
            raise
        except StorageError as error:
            self._failure = error
            raise
