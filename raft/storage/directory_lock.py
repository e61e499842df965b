"""The lock file `.lock` against two nodes on one directory.

Two locks are taken on it: `flock`, which also keeps a second node of the same process out, and a POSIX record lock,
which is what Java's FileChannel.tryLock takes, so that Kafka's own programs and ours exclude each other. The owner's
process id is written into it, for the message only.

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
    """A lock file that this process holds, once taken.

    Args:
        descriptor: of the open lock file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def take(self) -> None:
        """Take both locks, or raise OSError, and leave our process id."""
        assert self._descriptor is not None, "the lock was released"
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def owner(self) -> str:
        """Return the process that holds the lock, as " by process 17"; "" when it left no process id, as Kafka does."""
        assert self._descriptor is not None, "the lock was released"
        process_id = os.pread(self._descriptor, _LONGEST_PROCESS_ID, 0).decode(errors="replace").strip()
        return f" by process {process_id}" if process_id.isdigit() else ""

    def release(self) -> None:
        """Let others in: closing the file gives both locks back. The file stays, as Kafka leaves it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_lock(path: Path) -> OwnedLock:
    """Take the lock that the file `path` stands for; the file is created when missing.

    Raises:
        DirectoryLockedError: it is held; names the directory, and the owner where it left its process id.
        ConfigError: it is a symbolic link. Locking would empty the file to which the link leads.
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
