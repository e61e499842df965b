"""The lock file `.lock`, which keeps a second node out of a directory.

A node takes two locks on the file: `flock`, which also excludes a second node of the same process, and a POSIX record
lock, which excludes Kafka's programs because Java's FileChannel.tryLock takes that kind. The file has the process id of
its owner, for the error message only.

Source: rule STATE-17; Kafka FileLock, KafkaRaftManager.lockDataDir.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from raft.errors import ConfigError
from raft.storage.files import DirectoryLockedError

LOCK_FILE_NAME = ".lock"

_LONGEST_PROCESS_ID = 20


class OwnedLock:
    """An open lock file; this process holds the lock after `take`.

    Args:
        descriptor: of the open lock file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def take(self) -> None:
        """Take both locks, and write the process id into the file.

        Raises:
            OSError: another process or node holds a lock.
        """
        assert self._descriptor is not None, "the lock was released"
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def owner(self) -> str:
        """Return the owner as " by process 17"; "" if the file has no process id, as Kafka leaves it."""
        assert self._descriptor is not None, "the lock was released"
        process_id = os.pread(self._descriptor, _LONGEST_PROCESS_ID, 0).decode(errors="replace").strip()
        return f" by process {process_id}" if process_id.isdigit() else ""

    def release(self) -> None:
        """Release both locks by closing the file. The file stays, as in Kafka."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_lock(path: Path) -> OwnedLock:
    """Take the lock of a lock file, which is created if it does not exist.

    Args:
        path: the lock file.

    Raises:
        DirectoryLockedError: the lock is held; names the directory, and the owner if the file has its process id.
        ConfigError: the file is a symbolic link. Taking the lock would empty the file that the link points to.
        OSError: the file cannot be opened.
    """
    try:
        lock = OwnedLock(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigError(f"lock file {path} is a symbolic link, expected a plain file: remove the link") from error
        raise
    try:
        lock.take()
    except (BlockingIOError, PermissionError) as error:
        owner = lock.owner()
        lock.release()
        raise DirectoryLockedError(f"directory {path.parent} is in use{owner}: lock file {path} is held") from error
    except OSError:
        lock.release()
        raise
    return lock
