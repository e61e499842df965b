"""Files in memory that fail and lose power as a disk does: they replace `raft.storage.disk` in tests and the simulator.

Each file has its bytes on the disk and its bytes in the cache, and so has each folder for its names. A power cut
(`crash`) leaves what was flushed, and of the rest as much as `draw` says: the first names, the first bytes, sometimes
zeros in place of bytes, as on file systems that allocate before they write. A killed process (`kill`) loses nothing. A
test can make any call fail (`fail`), cut the power before any call (`cut_power_before`), take all room
(`take_all_room`), and flip bits.

The same calls and the same draws give the same bytes.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from raft.errors import StorageError
from raft.storage.files import DirectoryLock, DirectoryLockedError, File, folder_of, join, refused
from tests.memory_files.cached_bytes import CachedBytes, Draw

_CAPACITY_BYTES = 1 << 40
_BLOCK_BYTES = 512


class PowerCutError(Exception):
    """The machine is off. It is no StorageError, because no process is left to handle it."""


class Call(StrEnum):
    """The calls that change something, as StorageError names them."""

    CREATE = "open"
    WRITE = "write"
    TRUNCATE = "truncate"
    FLUSH = "flush"
    RENAME = "rename"
    REMOVE = "remove"
    SYNC_DIRECTORY = "flush folder"
    MAKE_DIRECTORY = "make folder"


@dataclass(slots=True, kw_only=True)
class _Fault:
    """An error to come, after `calls_left` more calls of this kind."""

    call: Call
    calls_left: int
    reason: int
    written_bytes: int


class MemoryFiles:
    """The files of one machine. They survive its crashes; open files and locks do not.

    As on a disk, two threads may create, rename and remove files of one folder, and flush its names, at the same time.
    """

    def __init__(self) -> None:
        self._files: dict[str, CachedBytes] = {}
        self._files_on_disk: dict[str, CachedBytes] = {}
        self._folders: set[str] = {""}
        # Per folder, the changes of names since it was last flushed: each sets or removes (None) some names.
        self._unflushed_names: dict[str, list[dict[str, CachedBytes | None]]] = {}
        self._naming = threading.Lock()
        self._locks: dict[str, _MemoryLock] = {}
        self._faults: list[_Fault] = []
        self._calls_until_power_cut: int | None = None
        self._is_off = False
        self._capacity_bytes = _CAPACITY_BYTES
        self._writes_until_full: int | None = None
        self._freed_bytes = 0
        self.is_kept_in_page_cache = True
        self.starts = 0
        self.calls: Counter[Call] = Counter()

    def path_of(self, name: str) -> str:
        """See `Files.path_of`."""
        return f"memory:/{name}"

    def exists(self, name: str) -> bool:
        """See `Files.exists`."""
        self.check_power()
        return name in self._files or name in self._folders

    def names_in(self, directory: str) -> list[str]:
        """See `Files.names_in`."""
        self.check_power()
        if directory not in self._folders:
            raise refused("list", self.path_of(directory), _os_error(errno.ENOENT))
        everything = (*self._files, *(self._folders - {""}))
        below = join(directory, "")
        names = (name.removeprefix(below) for name in everything if name.startswith(below))
        return sorted(name for name in names if "/" not in name)

    def make_directory(self, name: str) -> None:
        """See `Files.make_directory`."""
        self.begin(Call.MAKE_DIRECTORY, name)
        while name:
            self._folders.add(name)
            name = folder_of(name)

    def open(self, name: str) -> File:
        """See `Files.open`."""
        return MemoryFile(self, name, self._content(name))

    def create(self, name: str) -> File:
        """See `Files.create`."""
        self.begin(Call.CREATE, name)
        if folder_of(name) not in self._folders:
            raise refused(Call.CREATE, self.path_of(name), _os_error(errno.ENOENT))
        content = CachedBytes()
        self._change_names(folder_of(name), {name: content})
        return MemoryFile(self, name, content)

    def read(self, name: str) -> bytes:
        """See `Files.read`."""
        return bytes(self._content(name).data)

    def rename(self, source: str, target: str) -> None:
        """See `Files.rename`."""
        assert folder_of(source) == folder_of(target), f"{source} and {target} lie in different folders"
        self.begin(Call.RENAME, source)
        self._change_names(folder_of(source), {source: None, target: self._content(source)})

    def remove(self, name: str) -> None:
        """See `Files.remove`."""
        self.begin(Call.REMOVE, name)
        if name in self._files:
            self._freed_bytes += _blocks(len(self._files[name].data)) if self._writes_until_full == 0 else 0
            self._change_names(folder_of(name), {name: None})

    def sync_directory(self, name: str) -> None:
        """See `Files.sync_directory`."""
        self.begin(Call.SYNC_DIRECTORY, name)
        with self._naming:
            for change in self._unflushed_names.pop(name, []):
                _apply(change, self._files_on_disk)

    def free_bytes(self) -> int:
        """See `Files.free_bytes`."""
        self.check_power()
        return 0 if self._writes_until_full == 0 else max(0, self._capacity_bytes - self._used_bytes())

    def take_all_room(self, *, after_writes: int = 0) -> None:
        """Let files grow no more, but within the last block of each, as when another program takes every free block.

        What is removed from then on can be used again.

        Args:
            after_writes: how many writes come before that.
        """
        self._writes_until_full = after_writes
        self._freed_bytes = 0

    def fill(self, free_bytes: int | None) -> None:
        """Leave so many bytes free, as another program does; None for as many as at first. Writes do not fail."""
        self._writes_until_full = None
        self._capacity_bytes = _CAPACITY_BYTES if free_bytes is None else self._used_bytes() + free_bytes

    def _used_bytes(self) -> int:
        return sum(len(content.data) for content in self._files.values())

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """See `Files.keep_in_page_cache`."""
        self.is_kept_in_page_cache = is_kept

    def lock(self, name: str) -> DirectoryLock:
        """See `Files.lock`."""
        self.check_power()
        if name in self._locks:
            raise DirectoryLockedError(f"directory {self.path_of(folder_of(name))} is in use")
        return self._locks.setdefault(name, _MemoryLock(self._locks, name))

    def fail(self, call: Call, *, nth: int = 1, reason: int = errno.EIO, written_bytes: int = 0) -> None:
        """Make the nth call of this kind from now on fail, once.

        Args:
            call: which kind of call.
            nth: 1 is the next.
            reason: the error of the system, such as errno.EIO or errno.ENOSPC.
            written_bytes: for WRITE, how many bytes are written nevertheless.
        """
        self._faults.append(_Fault(call=call, calls_left=nth - 1, reason=reason, written_bytes=written_bytes))

    def cut_power_before(self, nth: int) -> None:
        """Turn the machine off in place of the nth changing call from now on: that call and all later calls raise."""
        self._calls_until_power_cut = nth - 1

    def crash(self, draw: Draw | None = None) -> None:
        """Cut the power, if it is on, and start again with what is on the disk.

        Args:
            draw: decides how much of what was not flushed is on the disk; None for nothing.
        """
        for folder in sorted(self._unflushed_names):
            changes = self._unflushed_names[folder]
            # File systems write names in order, so the ones that survive are the first ones.
            for change in changes[: draw(len(changes) + 1) if draw else 0]:
                _apply(change, self._files_on_disk)
        self._unflushed_names.clear()
        self._files_on_disk = {name: content.after_crash(draw) for name, content in sorted(self._files_on_disk.items())}
        self._files = dict(self._files_on_disk)
        self.kill()

    def kill(self) -> None:
        """End the process and start again: the machine keeps its cache, but open files are closed and locks released.

        Errors and power cuts that were to come do not come.
        """
        self._locks.clear()
        self._faults.clear()
        self._calls_until_power_cut = None
        self._is_off = False
        self.starts += 1

    def flip_bit(self, name: str, position: int, bit: int = 0) -> None:
        """Change one bit of a file, in the cache and on the disk."""
        content = self._content(name)
        content.data[position] ^= 1 << bit

    def put(self, name: str, data: bytes) -> None:
        """Add a file that is on the disk, as another program may have left it."""
        content = CachedBytes(data, is_flushed=True)
        self._files[name] = self._files_on_disk[name] = content

    def lose(self, name: str) -> None:
        """Remove a file, as an operator does."""
        del self._files[name]
        self._files_on_disk.pop(name, None)

    def begin(self, call: Call, name: str, written_bytes: Callable[[int], None] | None = None) -> None:
        """Count a changing call; raise if the power is to be cut now, or the call is to fail.

        Args:
            call: its kind.
            name: of the file or folder.
            written_bytes: writes as many bytes as a failing call still writes.
        """
        self.check_power()
        if self._calls_until_power_cut is not None:
            if self._calls_until_power_cut == 0:
                self._is_off = True
                self.check_power()
            self._calls_until_power_cut -= 1
        self.calls[call] += 1
        for fault in self._faults:
            if fault.call is call:
                if fault.calls_left:
                    fault.calls_left -= 1
                    continue
                self._faults.remove(fault)
                if written_bytes is not None:
                    written_bytes(fault.written_bytes)
                raise _refused(call, self.path_of(name), fault.reason)

    def check_power(self) -> None:
        """Raise if the machine is off."""
        if self._is_off:
            raise PowerCutError("the power is cut")

    def limit_write(self, name: str, content: CachedBytes, data: bytes) -> None:
        """Raise if there is no room for bytes at the end of a file; those that its last block has room for are written.

        Args:
            name: of the file.
            content: of the file.
            data: what is to be written.
        """
        if self._writes_until_full is None:
            return
        if self._writes_until_full:
            self._writes_until_full -= 1
            return
        size_bytes = len(content.data)
        new_bytes = _blocks(size_bytes + len(data)) - _blocks(size_bytes)
        if new_bytes <= self._freed_bytes:
            self._freed_bytes -= new_bytes
        else:
            left_bytes = _blocks(size_bytes) - size_bytes
            content.data += data[:left_bytes]
            raise _refused(Call.WRITE, self.path_of(name), errno.ENOSPC)

    def _content(self, name: str) -> CachedBytes:
        self.check_power()
        content = self._files.get(name)
        if content is None:
            raise refused("open", self.path_of(name), _os_error(errno.ENOENT))
        return content

    def _change_names(self, folder: str, change: dict[str, CachedBytes | None]) -> None:
        with self._naming:
            _apply(change, self._files)
            self._unflushed_names.setdefault(folder, []).append(change)


class MemoryFile:
    """An open file of `MemoryFiles`; it raises after a crash of the machine."""

    def __init__(self, files: MemoryFiles, name: str, content: CachedBytes) -> None:
        self._files = files
        self._name = name
        self._content = content
        self._start = files.starts

    @property
    def path(self) -> str:
        """See `File.path`."""
        return self._files.path_of(self._name)

    @property
    def size_bytes(self) -> int:
        """See `File.size_bytes`."""
        return len(self._content.data)

    def append(self, data: bytes) -> None:
        """See `File.append`."""
        self._begin(Call.WRITE, lambda size: self._content.data.extend(data[:size]))
        self._files.limit_write(self._name, self._content, data)
        self._content.data += data

    def overwrite(self, position: int, data: bytes) -> None:
        """See `File.overwrite`."""
        self._begin(Call.WRITE, lambda size: self._content.overwrite(position, data[:size]))
        self._content.overwrite(position, data)

    def read(self, position: int, size_bytes: int) -> bytes:
        """See `File.read`."""
        self._check_start()
        return bytes(memoryview(self._content.data)[position : position + size_bytes])

    def truncate(self, size_bytes: int) -> None:
        """See `File.truncate`."""
        self._begin(Call.TRUNCATE)
        self._content.truncate(size_bytes)

    def flush(self) -> None:
        """See `File.flush`."""
        self._begin(Call.FLUSH)
        self._content.flush()

    def close(self) -> None:
        """See `File.close`; nothing is kept open here."""

    def _begin(self, call: Call, written_bytes: Callable[[int], None] | None = None) -> None:
        self._check_start()
        self._files.begin(call, self._name, written_bytes)

    def _check_start(self) -> None:
        self._files.check_power()
        if self._start != self._files.starts:
            raise PowerCutError(f"{self.path} was open before the crash")


class _MemoryLock:
    """A held lock."""

    def __init__(self, locks: dict[str, _MemoryLock], name: str) -> None:
        self._locks = locks
        self._name = name

    def release(self) -> None:
        if self._locks.get(self._name) is self:
            del self._locks[self._name]


def _apply(change: dict[str, CachedBytes | None], names: dict[str, CachedBytes]) -> None:
    for name, content in change.items():
        if content is None:
            names.pop(name, None)
        else:
            names[name] = content


def _os_error(reason: int) -> OSError:
    return OSError(reason, os.strerror(reason))


def _blocks(size_bytes: int) -> int:
    """Return the size of the blocks that so many bytes take."""
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES


def _refused(call: Call, path: str, reason: int) -> StorageError:
    """Return the error of a call that fails, with the error of the system as its cause."""
    cause = _os_error(reason)
    error = refused(call, path, cause)
    error.__cause__ = cause
    return error
