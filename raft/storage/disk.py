"""Files on a disk. Folders are created with mode 0700 and files with mode 0600, so other users cannot read them."""

from __future__ import annotations

import logging
import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from raft.errors import ConfigError, StorageError
from raft.storage.directory_lock import OwnedLock, take_lock
from raft.storage.files import File, refused

_logger = logging.getLogger(__name__)

_LEAST_DROPPED_BYTES = 1 << 20
"""Smallest part of a file that is dropped from the page cache: each takes a system call."""

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
_OTHERS = 0o077

_sync_data = getattr(os, "fdatasync", os.fsync)
"""The call that flushes the bytes of a file. macOS has no fdatasync."""


class DiskFiles:
    """The files below a folder of this machine.

    Args:
        root: the folder; `make_directory` creates it if it does not exist.
    """

    def __init__(self, root: Path | str) -> None:
        self._root = Path(root)
        self._is_kept_in_page_cache = True

    def path_of(self, name: str) -> str:
        """See `Files.path_of`."""
        return str(self._root / name)

    def exists(self, name: str) -> bool:
        """See `Files.exists`."""
        with _refusals("look for", self.path_of(name)):
            return (self._root / name).exists()

    def names_in(self, directory: str) -> list[str]:
        """See `Files.names_in`."""
        with _refusals("list", self.path_of(directory)):
            return sorted(entry.name for entry in os.scandir(self._root / directory))

    def make_directory(self, name: str) -> None:
        """See `Files.make_directory`."""
        make_private_folder(self._root / name)
        if not name:
            _warn_if_open_to_others(self._root)

    def open(self, name: str) -> File:
        """See `Files.open`."""
        return self._open(name, os.O_RDWR)

    def create(self, name: str) -> File:
        """See `Files.create`."""
        try:
            return self._open(name, _NEW_FILE)
        except StorageError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
        # The file is replaced, not emptied: it may be a symbolic link to another file, which O_EXCL does not follow.
        self.remove(name)
        return self._open(name, _NEW_FILE)

    def read(self, name: str) -> bytes:
        """See `Files.read`."""
        with _refusals("read", self.path_of(name)):
            return (self._root / name).read_bytes()

    def rename(self, source: str, target: str) -> None:
        """See `Files.rename`."""
        with _refusals("rename", self.path_of(source)):
            (self._root / source).replace(self._root / target)

    def remove(self, name: str) -> None:
        """See `Files.remove`."""
        with _refusals("remove", self.path_of(name)):
            (self._root / name).unlink(missing_ok=True)

    def sync_directory(self, name: str) -> None:
        """See `Files.sync_directory`."""
        with _refusals("flush folder", self.path_of(name)):
            _sync_folder(self._root / name)

    def free_bytes(self) -> int:
        """See `Files.free_bytes`."""
        with _refusals("measure", self.path_of("")):
            space = os.statvfs(self._root)
            return space.f_bavail * space.f_frsize

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """See `Files.keep_in_page_cache`."""
        self._is_kept_in_page_cache = is_kept

    def lock(self, name: str) -> OwnedLock:
        """See `Files.lock`."""
        with _refusals("lock", self.path_of(name)):
            return take_lock(self._root / name)

    def _open(self, name: str, flags: int) -> _DiskFile:
        return _DiskFile(self.path_of(name), flags, is_kept_in_page_cache=lambda: self._is_kept_in_page_cache)


_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL


class _DiskFile:
    """An open file. It remembers its size, so an append is one system call.

    Args:
        path: of the file.
        flags: of the call that opens it.
        is_kept_in_page_cache: whether flushed bytes stay in the page cache.
    """

    def __init__(self, path: str, flags: int, *, is_kept_in_page_cache: Callable[[], bool]) -> None:
        self._path = path
        self._is_kept_in_page_cache = is_kept_in_page_cache
        self._closed = False
        with _refusals("open", path):
            self._descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE_FILE)
            self._size_bytes = os.fstat(self._descriptor).st_size
        self._dropped_bytes = self._flushed_bytes = self._size_bytes

    @property
    def path(self) -> str:
        return self._path

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def append(self, data: bytes) -> None:
        with _refusals("write", self._path):
            # The kernel may write only a part; a full disk returns its error at the next call.
            view = memoryview(data)
            while view:
                written = os.pwrite(self._descriptor, view, self._size_bytes)
                self._size_bytes += written
                view = view[written:]

    def overwrite(self, position: int, data: bytes) -> None:
        assert position + len(data) <= self._size_bytes, f"{self._path} ends at byte {self._size_bytes}"
        with _refusals("write", self._path):
            view = memoryview(data)
            while view:
                written = os.pwrite(self._descriptor, view, position)
                position += written
                view = view[written:]

    def read(self, position: int, size_bytes: int) -> bytes:
        with _refusals("read", self._path):
            data = os.pread(self._descriptor, size_bytes, position)
            while len(data) < min(size_bytes, self._size_bytes - position):
                more = os.pread(self._descriptor, size_bytes - len(data), position + len(data))
                if not more:
                    break
                data += more
            return data

    def truncate(self, size_bytes: int) -> None:
        with _refusals("truncate", self._path):
            os.ftruncate(self._descriptor, size_bytes)
            self._size_bytes = size_bytes
        self._flushed_bytes = min(self._flushed_bytes, size_bytes)
        self._dropped_bytes = min(self._dropped_bytes, size_bytes)

    def flush(self) -> None:
        size_bytes = self._size_bytes
        with _refusals("flush", self._path):
            self._drop_flushed()
            _sync_data(self._descriptor)
        self._flushed_bytes = size_bytes
        if self._is_kept_in_page_cache():
            self._dropped_bytes = size_bytes

    def _drop_flushed(self) -> None:
        """Drop from the page cache what earlier flushes wrote to the disk, unless it is kept."""
        size_bytes = self._flushed_bytes - self._dropped_bytes
        if size_bytes < _LEAST_DROPPED_BYTES or self._is_kept_in_page_cache() or not hasattr(os, "posix_fadvise"):
            return
        os.posix_fadvise(self._descriptor, self._dropped_bytes, size_bytes, os.POSIX_FADV_DONTNEED)
        # A page is dropped as a whole, so the last one waits until it is full.
        self._dropped_bytes = self._flushed_bytes // mmap.PAGESIZE * mmap.PAGESIZE

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with _refusals("close", self._path):
                os.close(self._descriptor)


def make_private_folder(path: Path) -> None:
    """Create a folder and its parents if they do not exist, and return when their names are on the disk.

    New folders get mode 0700; existing folders keep their mode.

    Args:
        path: the folder.

    Raises:
        ConfigError: a symbolic link in the path points to nothing; names the link and its target.
        StorageError: the disk returned an error.
    """
    with _refusals("make folder", str(path)):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            if folder.is_symlink():
                raise ConfigError(
                    f"{folder} is a symbolic link to {folder.readlink()}, which does not exist: make that directory, "
                    "or correct the link"
                )
            folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            _sync_folder(folder.parent)


def _warn_if_open_to_others(path: Path) -> None:
    """Log a warning if other users may enter a folder of this user. Its mode stays: the operator may want that."""
    with _refusals("look for", str(path)):
        found = path.stat()
    if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
        _logger.warning(
            "directory %s is open to other users, 'chmod 700 %s' makes it private: mode=%04o",
            path,
            path,
            stat.S_IMODE(found.st_mode),
        )


@contextmanager
def _refusals(call: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise refused(call, path, error) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
