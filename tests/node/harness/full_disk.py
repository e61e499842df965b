"""Disks on which another program takes all room, for nodes in this process."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from raft.storage import disk
from raft.storage.disk import DiskFiles
from raft.storage.files import refused

_BLOCK_BYTES = 4096


class FullDisks:
    """Lets files below some folders grow no more, but within the last block of each, and by what was removed.

    Args:
        patch: puts this in place of the system's calls.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._full: set[Path] = set()
        self._append = disk._DiskFile.append
        self._free_bytes = DiskFiles.free_bytes
        self._remove = DiskFiles.remove
        self._freed_bytes = 0
        full = self

        def append(file: disk._DiskFile, data: bytes) -> None:
            full._append_limited(file, data)

        def free_bytes(files: DiskFiles) -> int:
            return full._free_bytes_limited(files)

        patch.setattr(disk._DiskFile, "append", append)

        def remove(files: DiskFiles, name: str) -> None:
            full._remove_counted(files, name)

        patch.setattr(DiskFiles, "free_bytes", free_bytes)
        patch.setattr(DiskFiles, "remove", remove)

    def fill(self, *folders: Path) -> None:
        """Let these be full."""
        self._full |= {folder.resolve() for folder in folders}

    def empty(self) -> None:
        """Let all have room."""
        self._full.clear()

    def _is_full(self, path: str) -> bool:
        return any(Path(path).resolve().is_relative_to(folder) for folder in self._full)

    def _append_limited(self, file: disk._DiskFile, data: bytes) -> None:
        left_bytes = -file.size_bytes % _BLOCK_BYTES
        if len(data) <= left_bytes + self._freed_bytes or not self._is_full(file.path):
            if self._is_full(file.path):
                self._freed_bytes -= max(0, len(data) - left_bytes)
            self._append(file, data)
            return
        self._append(file, data[:left_bytes])
        raise refused("write", file.path, OSError(errno.ENOSPC, "No space left on device"))

    def _remove_counted(self, files: DiskFiles, name: str) -> None:
        path = Path(files.path_of(name))
        if self._is_full(str(path)) and path.exists():
            self._freed_bytes += path.stat().st_size
        self._remove(files, name)

    def _free_bytes_limited(self, files: DiskFiles) -> int:
        return 0 if self._is_full(files.path_of("")) else self._free_bytes(files)
