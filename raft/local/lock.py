"""The lock of a directory whose owner may be about to exit."""

from __future__ import annotations

import time
from pathlib import Path

from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.disk import DiskFiles
from raft.storage.files import DirectoryLock, DirectoryLockedError

_WAIT_S = 10.0
_LOOK_S = 0.1


def lock_patiently(directory: Path) -> DirectoryLock:
    """Take the lock of a directory; wait up to 10 s for another owner to exit.

    Args:
        directory: is created if it does not exist.

    Raises:
        ConfigError: it is still in use after 10 s.
        StorageError: the disk returned an error.
    """
    files = DiskFiles(directory)
    files.make_directory("")
    deadline_s = time.monotonic() + _WAIT_S
    while True:
        try:
            return files.lock(LOCK_FILE_NAME)
        except DirectoryLockedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_LOOK_S)
