"""Remembers the first error of a write or flush, because no write may follow it (LOG-17)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from raft.errors import StorageError


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
        """Do a write or flush in this context.

        Raises:
            StorageError: the disk returned an error, now or before.
        """
        if self._failure is not None:
            raise StorageError(f"the log takes no writes after an error: {self._failure}") from self._failure
        try:
            yield
        except StorageError as error:
            self._failure = error
            raise
