"""Files on a real disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raft.storage.directory_lock import OwnedLock, take_lock
from raft.storage.files import File, refused

_sync_data = getattr(os, "fdatasync", os.fsync)
"""What makes a file's bytes last. macOS has no call for the data alone."""


class DiskFiles:
    """The files below a folder of the machine.

    Args:
        root: the folder; `make_directory` makes it where it is missing.
    """

    def __init__(self, root: Path | str) -> None:
        self._root = Path(root)

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
        path = self._root / name
        with _refusals("make folder", str(path)):
            missing = [folder for folder in (path, *path.parents) if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir(exist_ok=True)
                _sync_folder(folder.parent)

    def open(self, name: str) -> File:
        """See `Files.open`."""
        return _DiskFile(self.path_of(name), os.O_RDWR)

    def create(self, name: str) -> File:
        """See `Files.create`."""
        return _DiskFile(self.path_of(name), os.O_RDWR | os.O_CREAT | os.O_TRUNC)

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

    def lock(self, name: str) -> OwnedLock:
        """See `Files.lock`."""
        with _refusals("lock", self.path_of(name)):
            return take_lock(self._root / name)


class _DiskFile:
    """An open file; keeps its size, so that an append is one system call."""

    def __init__(self, path: str, flags: int) -> None:
        self._path = path
        self._closed = False
        with _refusals("open", path):
            self._descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
            self._size_bytes = os.fstat(self._descriptor).st_size

    @property
    def path(self) -> str:
        return self._path

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def append(self, data: bytes) -> None:
        with _refusals("write", self._path):
            # The kernel may take less than it is given; a disk that is full says so at the next call.
            view = memoryview(data)
            while view:
                written = os.pwrite(self._descriptor, view, self._size_bytes)
                self._size_bytes += written
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

    def flush(self) -> None:
        with _refusals("flush", self._path):
            _sync_data(self._descriptor)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with _refusals("close", self._path):
                os.close(self._descriptor)


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
