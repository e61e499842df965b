"""The port through which storage reaches files: `raft.storage.disk` here, files in memory in the tests.

Names are relative to one root, with "/" between folders. Every method raises StorageError with the file, the call and
the reason when the disk refuses; the caller never sees an OSError.

What lasts: the bytes of a file once `File.flush` has returned; a name (created, renamed, removed) once
`Files.sync_directory` of its folder has. Anything else may be there or not after a power cut.
"""

from __future__ import annotations

import posixpath
from typing import Protocol

from raft.errors import ConfigError, StorageError


class DirectoryLockedError(ConfigError):
    """Another process, or another node in this one, holds the lock of a directory."""


class File(Protocol):
    """An open file: appended to at its end, read anywhere.

    One thread appends, cuts, reads and closes. `flush` may run on another thread while the first appends or reads.
    """

    @property
    def path(self) -> str:
        """The file's name as an operator knows it."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes in it, flushed or not."""
        ...

    def append(self, data: bytes) -> None:
        """Write `data` at the end, all of it or an error."""
        ...

    def read(self, position: int, size_bytes: int) -> bytes:
        """Return `size_bytes` from `position` on; fewer only at the end of the file."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Cut the file to `size_bytes`, no more than it has."""
        ...

    def flush(self) -> None:
        """Return when all that was appended or cut before the call is on the disk."""
        ...

    def close(self) -> None:
        """Give the file back, without a flush. A second close does nothing."""
        ...


class DirectoryLock(Protocol):
    """A lock that is held until it is released or the process ends."""

    def release(self) -> None:
        """Let others in. A second release does nothing."""
        ...


class Files(Protocol):
    """The files below one root."""

    def path_of(self, name: str) -> str:
        """Return the name as an operator knows it, for messages."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is a file or a folder of this name."""
        ...

    def names_in(self, directory: str) -> list[str]:
        """Return the names in a folder, sorted; "" is the root."""
        ...

    def make_directory(self, name: str) -> None:
        """Make a folder, and those above it, where they are missing, and make their names last.

        Raises:
            ConfigError: the name is a symbolic link that leads nowhere.
        """
        ...

    def open(self, name: str) -> File:
        """Open a file that exists."""
        ...

    def create(self, name: str) -> File:
        """Open a new, empty file; one that has the name already loses it. A symbolic link is not followed."""
        ...

    def read(self, name: str) -> bytes:
        """Return a whole small file."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Give a file another name in its folder, in one step; a file that had it is gone."""
        ...

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        ...

    def sync_directory(self, name: str) -> None:
        """Return when the names in this folder are on the disk as they are now."""
        ...

    def lock(self, name: str) -> DirectoryLock:
        """Take the exclusive lock that this file stands for; it is created when missing.

        Raises:
            DirectoryLockedError: somebody else holds it; says who, where that can be told.
        """
        ...


def folder_of(name: str) -> str:
    """Return the folder that a name lies in; "" for the root."""
    return posixpath.dirname(name)


def join(directory: str, name: str) -> str:
    """Return the name of something in a folder."""
    return posixpath.join(directory, name)


def refused(call: str, path: str, error: OSError) -> StorageError:
    """Return the error for a call that the disk refused, in words an operator can act on."""
    return StorageError(f"cannot {call} {path}: {error.strerror or error}")
