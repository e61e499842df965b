"""The interface through which storage uses files: `raft.storage.disk` here, files in memory in the tests.

Names are relative to one root, with "/" between folders. If the disk returns an error, every method raises StorageError
with the call, the file and the reason; no caller gets an OSError.

A disk without room is a DiskFullError, unless the call was a flush: what is on the disk is unknown then, so no flush is
repeated (LOG-17).

The bytes of a file are on the disk when `File.flush` has returned; a name that was created, renamed or removed when
`Files.sync_directory` of its folder has returned. A power cut may or may not undo anything else.
"""

from __future__ import annotations

import errno
from typing import Protocol

from raft.errors import ConfigError, DiskFullError, StorageError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FLUSHES = ("flush", "flush folder")


class DirectoryLockedError(ConfigError):
    """Another process, or another node in this process, holds the lock of a directory."""


class File(Protocol):
    """An open file, which grows at its end and can be read at any position.

    One thread appends, truncates, reads and closes. `flush` may run on another thread while the first appends or reads.
    """

    @property
    def path(self) -> str:
        """Path of the file, for messages."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes in the file, flushed or not."""
        ...

    def append(self, data: bytes) -> None:
        """Write all of `data` at the end. After an error a part of it may be there."""
        ...

    def overwrite(self, position: int, data: bytes) -> None:
        """Write all of `data` in the place of bytes that the file has. After an error a part of it may be there."""
        ...

    def read(self, position: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `position` on; fewer only at the end of the file."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Truncate the file to `size_bytes`, which is no more than it has."""
        ...

    def flush(self) -> None:
        """Return when everything that was appended or truncated before the call is on the disk."""
        ...

    def close(self) -> None:
        """Close the file without a flush. A second close does nothing."""
        ...


class DirectoryLock(Protocol):
    """A lock that is held until it is released or the process ends."""

    def release(self) -> None:
        """Release the lock. A second release does nothing."""
        ...


class Files(Protocol):
    """The files below one root."""

    def path_of(self, name: str) -> str:
        """Return the path of a file, for messages."""
        ...

    def exists(self, name: str) -> bool:
        """Whether a file or a folder with this name exists."""
        ...

    def names_in(self, directory: str) -> list[str]:
        """Return the names in a folder, sorted; "" is the root."""
        ...

    def make_directory(self, name: str) -> None:
        """Create a folder and its parents if they do not exist, and return when their names are on the disk.

        Raises:
            ConfigError: the name is a symbolic link that points to nothing.
        """
        ...

    def open(self, name: str) -> File:
        """Open a file that exists."""
        ...

    def create(self, name: str) -> File:
        """Create and open an empty file; it replaces a file of the same name. A symbolic link is not followed."""
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a small file."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file within its folder, atomically; it replaces a file that has the new name."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        ...

    def sync_directory(self, name: str) -> None:
        """Return when the present names in this folder are on the disk."""
        ...

    def free_bytes(self) -> int:
        """Return how many bytes this process may still write to the file system of the root."""
        ...

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """Decide whether the page cache of the operating system keeps what is flushed from now on.

        Args:
            is_kept: whether it does; at first it does.
        """
        ...

    def lock(self, name: str) -> DirectoryLock:
        """Take the exclusive lock of a lock file, which is created if it does not exist.

        Raises:
            DirectoryLockedError: another process or node holds it; names the owner if it is known.
        """
        ...


def folder_of(name: str) -> str:
    """Return the folder of a name; "" for the root."""
    return name.rpartition("/")[0]


def join(directory: str, name: str) -> str:
    """Return the name of a file or folder in a folder."""
    return f"{directory}/{name}" if directory else name


def refused(call: str, path: str, error: OSError) -> StorageError:
    """Return the error for a call that failed.

    Args:
        call: what was tried, in words.
        path: of the file or folder.
        error: the error of the operating system.
    """
    kind = DiskFullError if error.errno in _NO_ROOM and call not in _FLUSHES else StorageError
    return kind(f"cannot {call} {path}: {error.strerror or error}")


def lacks_room(error: StorageError) -> bool:
    """Whether the disk had no room, also if the call was a flush."""
    return isinstance(error, DiskFullError) or (
        isinstance(error.__cause__, OSError) and error.__cause__.errno in _NO_ROOM
    )
